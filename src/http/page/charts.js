// Small charts of shares of time, as SVG. Each is drawn from points with a time, a mean and a peak between 0 and 1;
// where points are missing the line breaks, since a gap is no zero.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 100;
const WIDTH = 360;

export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(own, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) own.setAttribute(key, value);
  own.append(...children.filter((child) => child !== undefined && child !== null));
  return own;
}

// Points in a row, none further than `gap` from the one before.
function runs(points, gap) {
  const all = [];
  for (const point of points) {
    const run = all.at(-1);
    if (run && point.time - run.at(-1).time <= gap) run.push(point);
    else all.push([point]);
  }
  return all;
}

// Draws `points` into an SVG that is there, from time `from` to time `to`. `marks` are times to be marked.
export function draw(svg, points, { from, to, gap, label, marks = [] }) {
  // One moment has a width, too.
  const reach = Math.max(to - from, 0.000001);
  const x = (time) => (((time - from) / reach) * WIDTH).toFixed(1);
  const y = (share) => (HEIGHT - Math.min(share, 1) * (HEIGHT - 4) - 2).toFixed(1);
  const shown = points.filter((point) => point.time >= from && point.time <= to);
  const parts = [];
  for (const run of runs(shown, gap)) {
    const lead = run.length > 1 ? run : [{ ...run[0], time: run[0].time - gap / 3 }, run[0]];
    const tops = lead.map((point) => `${x(point.time)},${y(point.peak)}`);
    const [first, last] = [lead[0], lead.at(-1)];
    parts.push(
      shape("path", { class: "peak", d: `M${x(first.time)},${HEIGHT}L${tops.join("L")}L${x(last.time)},${HEIGHT}Z` }),
      shape("path", { class: "mean", d: `M${lead.map((point) => `${x(point.time)},${y(point.mean)}`).join("L")}` }),
    );
  }
  for (const time of marks.filter((time) => time >= from && time <= to)) {
    parts.push(shape("line", { class: "mark", x1: x(time), x2: x(time), y1: 0, y2: HEIGHT }));
  }
  svg.setAttribute("aria-label", label);
  svg.replaceChildren(...parts);
}

// An empty chart.
export function chart(kind) {
  const attributes = { class: `chart ${kind}`, role: "img", "aria-label": "no samples yet" };
  return shape("svg", { ...attributes, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" });
}
