// Values of settings as text, and what somebody types as a value.

/** Lists, also while nothing is set. */
const LISTS = ["scope.skip_extensions"];

export const isList = ({ key, value, default: built }) => LISTS.includes(key) || Array.isArray(value) || Array.isArray(built);
const isSection = ({ key }) => key.startsWith("host.");

/** For a cell of a table. */
export function shortly(value) {
  if (value === null || value === undefined || (Array.isArray(value) && !value.length)) return "–";
  if (Array.isArray(value)) return value.map(String).join(" · ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** For a sentence. */
export const inWords = (value) => (shortly(value) === "–" ? "nothing" : shortly(value));

/** For a field: a list has one entry a line. */
export function typed(setting) {
  const { value } = setting;
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join("\n");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** What is expected in the field of a setting. */
export function expected(setting) {
  if (isList(setting)) return "One entry a line.";
  if (isSection(setting)) return 'Such as {"min_delay": "2s", "max_connections": 2}.';
  if (typeof (setting.value ?? setting.default) === "boolean") return "true or false.";
  return "A number, a time such as 2s, a size such as 7MB, or a word, as in the file. Empty: the built-in default.";
}

/** The value that a text stands for. Throws what to tell when it is none. */
export function valueOf(setting, text) {
  if (isList(setting)) return text.split("\n").map((line) => line.trim()).filter(Boolean);
  const word = text.trim();
  if (isSection(setting)) return JSON.parse(word);
  if (word === "true" || word === "false") return word === "true";
  const isText = typeof (setting.value ?? setting.default) === "string";
  return !isText && /^-?\d+(\.\d+)?$/.test(word) ? Number(word) : word;
}
