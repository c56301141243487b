// A line over time, drawn as SVG.

import { moments } from "./axis.js";
import { el, say, svg } from "./dom.js";
import { clock, rate } from "./format.js";

const WIDTH = 1000;
const HEIGHT = 200;
const LEFT = 44;
const RIGHT = 8;
const TOP = 12;
const BOTTOM = 24;

/** Round steps for an axis up to `most`: 1, 2, 5 times a power of ten. */
export function steps(most, wanted = 4) {
  const raw = Math.max(most, 1e-9) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, n) => n * step);
}

/** Draws `points` ({t: ms, v}) between two moments into `box`, with a reader for pointer and arrow keys. */
export class Chart {
  constructor(box, unit) {
    this.unit = unit;
    this.grid = svg("g", { class: "grid" });
    this.area = svg("path", { class: "area" });
    this.line = svg("path", { class: "line", fill: "none" });
    this.mark = svg("g", { class: "mark", visibility: "hidden" }, svg("line", { y1: TOP, y2: HEIGHT - BOTTOM }), svg("path", { class: "dot" }));
    this.figure = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", tabindex: 0 },
      this.grid, this.area, this.line, this.mark);
    this.read = el("p", { class: "reading small" });
    this.labels = el("div", { class: "labels", "aria-hidden": "true" });
    box.replaceChildren(this.figure, this.labels, this.read);
    this.points = [];
    this.at = null;
    this.listen();
  }

  listen() {
    this.figure.addEventListener("pointermove", (event) => {
      const { left, width } = this.figure.getBoundingClientRect();
      this.look(this.nearest(((event.clientX - left) / width) * WIDTH));
    });
    this.figure.addEventListener("pointerleave", () => this.look(null));
    this.figure.addEventListener("blur", () => this.look(null));
    this.figure.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move || !this.points.length) return;
      event.preventDefault();
      const from = this.at ?? this.points.length;
      this.look(Math.min(this.points.length - 1, Math.max(0, from + move)));
    });
  }

  nearest(x) {
    let best = null;
    this.points.forEach((point, index) => {
      if (best === null || Math.abs(this.x(point.t) - x) < Math.abs(this.x(this.points[best].t) - x)) best = index;
    });
    return best;
  }

  x(t) {
    return LEFT + ((t - this.from) / Math.max(1, this.until - this.from)) * (WIDTH - LEFT - RIGHT);
  }

  y(v) {
    return HEIGHT - BOTTOM - (v / this.top) * (HEIGHT - TOP - BOTTOM);
  }

  draw(points, from, until) {
    [this.points, this.from, this.until] = [points.filter((p) => p.t >= from), from, until];
    const most = this.points.reduce((m, p) => Math.max(m, p.v), 0);
    const ticks = steps(most || 1);
    this.top = ticks.at(-1);
    this.scale(ticks);
    const path = this.points.map((p, n) => `${n ? "L" : "M"}${this.x(p.t).toFixed(1)} ${this.y(p.v).toFixed(1)}`).join("");
    this.line.setAttribute("d", path);
    const base = HEIGHT - BOTTOM;
    const closed = path && `${path}L${this.x(this.points.at(-1).t).toFixed(1)} ${base}L${this.x(this.points[0].t).toFixed(1)} ${base}Z`;
    this.area.setAttribute("d", closed);
    const last = this.points.at(-1)?.v ?? 0;
    this.figure.setAttribute("aria-label", `${rate(last)} ${this.unit} now, at most ${rate(most)} in the time shown; read with the arrow keys`);
    this.look(this.at !== null && this.at < this.points.length ? this.at : null);
  }

  /** Grid lines are drawn, their labels are text beside the picture, which may be stretched. */
  scale(ticks) {
    const round = moments(this.from, this.until);
    const across = ticks.map((v) => svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: this.y(v), y2: this.y(v) }));
    const up = round.map(({ t }) => svg("line", { class: "moment", x1: this.x(t), x2: this.x(t), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 5 }));
    this.grid.replaceChildren(...across, ...up);
    const left = ticks.map((v) => this.label(rate(v), "y", 0, this.y(v)));
    const edge = (x) => (x > WIDTH - 40 ? "x last" : x < LEFT + 20 ? "x first" : "x");
    const below = round.map(({ t, label }) => this.label(label, edge(this.x(t)), this.x(t), HEIGHT));
    this.labels.replaceChildren(...left, ...below);
  }

  label(text, kind, x, y) {
    const label = el("span", { class: kind }, text);
    label.style.left = `${(x / WIDTH) * 100}%`;
    label.style.top = `${(y / HEIGHT) * 100}%`;
    return label;
  }

  look(index) {
    this.at = index;
    const point = index === null ? undefined : this.points[index];
    this.mark.setAttribute("visibility", point ? "visible" : "hidden");
    const shown = point ?? this.points.at(-1);
    say(this.read, shown ? `${clock(shown.t)} — ${rate(shown.v)} ${this.unit}` : "no figures yet");
    if (!point) return;
    const [line, dot] = this.mark.children;
    line.setAttribute("x1", this.x(point.t));
    line.setAttribute("x2", this.x(point.t));
    dot.setAttribute("d", `M${this.x(point.t)} ${this.y(point.v)}h0`); // a dot by its round ends, however the picture is stretched
  }
}
