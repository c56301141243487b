// Building and changing elements. Data only ever becomes text: nothing here reads markup.

export const $ = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((c) => c !== null && c !== undefined));
  return element;
}

/** A button that is no submit. */
export const button = (attributes, label) => el("button", { type: "button", ...attributes }, label);

/** What went wrong, in place of what a box holds. */
export const complain = (box, error, ...more) => box.replaceChildren(el("p", { class: "bad" }, error.message), ...more);

/** What came of something: good, bad, a warning, or quiet. */
export function tell(box, kind, text) {
  box.className = `outcome ${kind}`;
  say(box, text);
}

/** Changes text only when it differs, so that screen readers and selections are left alone. */
export function say(element, text) {
  const next = String(text);
  if (element.textContent !== next) element.textContent = next;
}

/** Shows or hides. */
export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible;
}

/** One button of several is pressed; gives a function that presses one by its key. */
export function choice(group, options, pressed, onChange) {
  const buttons = options.map(([key, label]) => [key, button({ "data-choice": key, onclick: () => press(key) }, label)]);
  group.replaceChildren(...buttons.map(([, button]) => button));
  const mark = (key) => buttons.forEach(([k, button]) => button.setAttribute("aria-pressed", String(k === key)));
  const press = (key) => {
    mark(key);
    onChange(key);
  };
  mark(pressed);
}
