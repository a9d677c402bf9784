// Draws what the API says, event by event. Elements stay and are updated, so that focus and reading position stay, too.

import { chart, draw, element } from "./charts.js";

const KEPT_SECONDS = 180;
const RATE_SECONDS = 10;
const SILENCE_MILLISECONDS = 5000;
const WAYS = {
  tx: { sign: "sent (tx)", words: "holds its peer" },
  rx: { sign: "received (rx)", words: "held by its peer" },
};
const RATES = [
  ["roce_ecn_marked_packets_total", "ECN marked in"],
  ["roce_cnp_sent_total", "CNP sent"],
  ["roce_cnp_handled_total", "CNP handled"],
  ["roce_cnp_ignored_total", "CNP ignored"],
  ["roce_cnp_received_total", "CNP received"],
];

const byId = (id) => document.getElementById(id);

// Never 100 % or 0 % of what is only near it.
function percent(share) {
  if (share <= 0 || share >= 1) return `${share <= 0 ? 0 : 100} %`;
  if (share < 0.00005) return "< 0.01 %";
  return `${Math.min(share * 100, 99.9).toFixed(share < 0.0995 ? 2 : 1)} %`;
}

// An upper bound.
function atMost(share) {
  const text = percent(share);
  return text.startsWith("<") ? text : `≤ ${text}`;
}

const count = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
const nameOf = (device) => device || "no netdev";

function span(seconds) {
  if (seconds <= 0) return "0 s";
  if (seconds < 0.001) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 0.9995) return `${(seconds * 1e3).toFixed(seconds < 0.1 ? 1 : 0)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function say(own, text) {
  if (own.textContent !== text) own.textContent = text;
}

function kind(own, name, wanted) {
  if (own.classList.contains(name) !== wanted) own.classList.toggle(name, wanted);
}

// Keeps one child of `parent` for each item, in the items' order; `make` gives { own, update }.
function keep(parent, items, keyOf, make) {
  parent.kept ??= new Map();
  const keys = new Set(items.map(keyOf));
  for (const [key, child] of parent.kept) {
    if (!keys.has(key)) {
      child.own.remove();
      parent.kept.delete(key);
    }
  }
  items.forEach((item, place) => {
    const key = keyOf(item);
    if (!parent.kept.has(key)) parent.kept.set(key, make(item));
    const child = parent.kept.get(key);
    if (parent.children[place] !== child.own) parent.insertBefore(child.own, parent.children[place] ?? null);
    child.update(item);
  });
}

// A table whose rows are kept; `columns` are [title, class].
function table(caption, columns) {
  const heads = columns.map(([title, name]) => element("th", { scope: "col", class: name ?? "" }, title));
  const body = element("tbody");
  const own = element("table", { class: "stacked" }, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), body);
  const row = () => {
    const cells = columns.map(([title, name], place) =>
      place === 0 ? element("th", { scope: "row", "data-title": title }) : element("td", { class: name ?? "", "data-title": title }));
    return { own: element("tr", {}, ...cells), cells };
  };
  // Wide tables scroll by key, too.
  return { own: element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, own), body, row };
}

// --- The past, by priority and second ---

const past = new Map();
const keyOf = (device, priority) => `${device}\n${priority}`;
let newestSecond = 0;

function remember(trends) {
  for (const trend of trends) {
    const key = keyOf(trend.device, trend.priority);
    const seconds = past.get(key) ?? past.set(key, new Map()).get(key);
    for (const second of trend.seconds) {
      seconds.set(second.unix_second, second);
      newestSecond = Math.max(newestSecond, second.unix_second);
    }
    for (const second of seconds.keys()) {
      if (second < newestSecond - KEPT_SECONDS) seconds.delete(second);
    }
  }
}

function trendOf(device, priority, way) {
  const seconds = [...(past.get(keyOf(device, priority))?.values() ?? [])];
  const known = seconds.filter((second) => second[way]).sort((a, b) => a.unix_second - b.unix_second);
  return known.map((second) => ({ time: second.unix_second, ...second[way] }));
}

// --- Pause ---

const shareOf = (side) => side.pause_ratio ?? side.pause_ratio_upper_bound;

function side(device, priority, way) {
  const svg = chart(way);
  const share = element("span");
  const peak = element("small");
  const own = element("div", { class: "side" },
    element("div", { class: `words ${way}` }, element("b", {}, WAYS[way].words), element("br"), WAYS[way].sign),
    svg, element("div", { class: "figure" }, share, peak));
  const where = { "data-device": device, "data-priority": priority, "data-direction": way };
  for (const [key, value] of Object.entries(where)) share.setAttribute(key, value);
  const update = (figures) => {
    const exact = figures.pause_ratio !== undefined;
    const ratio = shareOf(figures);
    share.setAttribute("data-metric", exact ? "roce_pfc_pause_ratio" : "roce_pfc_pause_ratio_upper_bound");
    share.setAttribute("data-value", ratio ?? "");
    say(share, ratio === undefined ? "unknown" : exact ? percent(ratio) : atMost(ratio));
    say(peak, figures.pause_ratio_peak === undefined ? "" : `peak ${percent(figures.pause_ratio_peak)}`);
    const points = trendOf(device, priority, way);
    const highest = points.reduce((most, point) => Math.max(most, point.peak), 0);
    const label = `${nameOf(device)} priority ${priority} ${WAYS[way].words}: ` +
      (points.length ? `highest sample of the last 3 minutes ${percent(highest)}` : "no samples yet");
    draw(svg, points, { from: newestSecond - KEPT_SECONDS, to: newestSecond, gap: 3, label });
  };
  return { own, update };
}

// Each sample of the last seconds, asked for while it is open.
function closeUp(device, priority) {
  const charts = { tx: chart("tx tall"), rx: chart("rx tall") };
  const note = element("p", { class: "facts" });
  const own = element("details", {}, element("summary", {}, `Each sample of the last ${RATE_SECONDS} s`),
    note, element("p", { class: "facts tx" }, "sent (tx)"), charts.tx, element("p", { class: "facts rx" }, "received (rx)"), charts.rx);
  const ask = async () => {
    if (!own.open || !own.isConnected) return;
    const answer = await fetch(`/api/v1/devices/${encodeURIComponent(device)}/priorities/${priority}/samples?seconds=${RATE_SECONDS}`).catch(() => null);
    if (answer?.ok) showSamples(charts, (await answer.json()).samples, note, []);
    setTimeout(ask, 1000);
  };
  own.addEventListener("toggle", ask);
  return own;
}

function showSamples(charts, samples, note, marks) {
  if (samples.length === 0) return say(note, "no samples");
  const [first, last] = [samples[0], samples.at(-1)];
  const spans = samples.map((sample) => sample.span_seconds).sort((a, b) => a - b);
  const gap = spans[Math.floor(spans.length / 2)] * 4;
  for (const [way, svg] of Object.entries(charts)) {
    const points = samples.filter((sample) => sample[way] && shareOf(sample[way]) !== undefined)
      .map((sample) => ({ time: sample.ended_unix_seconds, mean: shareOf(sample[way]), peak: shareOf(sample[way]) }));
    const highest = points.reduce((most, point) => Math.max(most, point.peak), 0);
    draw(svg, points, { from: first.ended_unix_seconds - first.span_seconds, to: last.ended_unix_seconds, gap, marks,
      label: `${WAYS[way].sign}: ${points.length} samples, the highest ${percent(highest)}` });
  }
  say(note, `${samples.length} samples over ${span(last.ended_unix_seconds - first.ended_unix_seconds)}, one each ${span(spans[Math.floor(spans.length / 2)])}`);
}

function priorityBlock(device, first) {
  const title = element("span");
  const sides = element("div");
  const own = element("div", { class: "priority" },
    element("h4", {}, `Priority ${first.priority}`, title), sides, closeUp(device, first.priority));
  const update = (item) => {
    const parts = [];
    if (item.lossless !== undefined) parts.push(item.lossless ? "lossless" : "not lossless");
    if (item.asymmetry_ratio !== undefined) {
      const whose = item.asymmetry_ratio > 0 ? "this port holds more" : "the peer holds more";
      parts.push(`asymmetry ${item.asymmetry_ratio.toFixed(2)}${item.asymmetry_ratio === 0 ? "" : `, ${whose}`}`);
    }
    say(title, parts.join(" · "));
    const ways = ["tx", "rx"].filter((way) => item[way]).map((way) => ({ way, figures: item[way] }));
    const make = ({ way }) => {
      const made = side(device, item.priority, way);
      return { own: made.own, update: (now) => made.update(now.figures) };
    };
    keep(sides, ways, (one) => one.way, make);
  };
  return { own, update };
}

// --- Rates, over the time between two reads ---

const readings = new Map();

function rates(device, port) {
  const key = `${device}\n${port.rdma_device}\n${port.port ?? ""}`;
  const at = port.sampled_monotonic_seconds;
  if (at === undefined) return [];
  let reads = readings.get(key) ?? [];
  if (reads.length && at < reads.at(-1).at) reads = [];
  if (!reads.length || at > reads.at(-1).at) reads.push({ at, counters: port.counters });
  while (reads.length > 2 && at - reads[1].at >= RATE_SECONDS) reads.shift();
  readings.set(key, reads);
  return RATES.filter(([name]) => port.counters[name] !== undefined).map(([name, title]) => {
    const since = reads.find((read) => read.counters[name] !== undefined);
    const growth = port.counters[name] - since.counters[name];
    const known = at > since.at && growth >= 0;
    return { name, title, total: port.counters[name], text: known ? `${count(growth / (at - since.at))}/s` : "…" };
  });
}

function rate(device, port, first) {
  const figure = element("dd", { "data-device": device, "data-rdma-device": port, "data-metric": first.name });
  return {
    own: element("div", {}, element("dt", {}, first.title), figure),
    update: (item) => {
      figure.setAttribute("data-value", item.total);
      say(figure, item.text);
    },
  };
}

// --- Devices ---

function card(first) {
  const title = element("h3", {}, nameOf(first.device));
  const state = element("span", { class: "badge" });
  const facts = element("p", { class: "facts" });
  const priorities = element("div");
  const ports = element("div");
  const own = element("article", { class: "card" }, element("header", {}, title, state), facts, priorities, ports);
  const update = (item) => {
    const storms = item.priorities.some((one) => one.tx?.storm_active || one.rx?.storm_active);
    kind(own, "storm", storms);
    const words = storms ? "storm" : item.up === undefined ? "" : item.up ? "up" : "no carrier";
    say(state, words);
    state.hidden = words === "";
    kind(state, "bad", storms || item.up === false);
    kind(state, "good", !storms && item.up === true);
    const speed = item.speed_bytes_per_second && `${(item.speed_bytes_per_second * 8) / 1e9} Gbit/s`;
    const peer = item.peer && `linked to ${item.peer.host} ${item.peer.device}`;
    const basis = item.basis === "frames" ? "upper bounds from frames: the driver counts no pause time" : null;
    say(facts, [speed, item.driver, item.netns && `netns ${item.netns}`, peer, basis].filter(Boolean).join(" · "));
    keep(priorities, item.priorities, (one) => one.priority, (one) => priorityBlock(item.device, one));
    keep(ports, item.rdma, (one) => `${one.rdma_device}\n${one.port ?? ""}`, (one) => {
      const list = element("dl", { class: "rates" });
      const name = element("p", { class: "port" }, one.port === undefined ? one.rdma_device : `${one.rdma_device}/${one.port}`);
      const update = (now) => {
        const all = rates(item.device, now);
        const none = { name: "", title: "no ECN or CNP counters", text: "" };
        keep(list, all.length ? all : [none], (own) => own.name, (own) => rate(item.device, now.rdma_device, own));
      };
      return { own: element("div", {}, name, list), update };
    });
  };
  return { own, update };
}

function showDevices(devices) {
  // What has something to show comes first; the rest is named in one line.
  const shown = devices.filter((item) => item.priorities.length || item.rdma.length);
  const rest = devices.filter((item) => !shown.includes(item)).map((item) => nameOf(item.device));
  keep(byId("devices"), shown, (item) => item.device, card);
  const none = byId("devices-rest") ?? element("p", { id: "devices-rest", class: "note" });
  say(none, rest.length ? `Nothing to show of ${rest.join(", ")}: no priority is lossless or has paused.` : "");
  if (!none.isConnected) byId("devices").after(none);
}

// --- Storms ---

const where = (storm) => `${nameOf(storm.device)} priority ${storm.priority}`;
const detail = element("div", { id: "storm", "aria-live": "polite" });
const stormTable = table("The last 16 storms of each device", [
  ["Port", ""], ["Who", ""], ["Onset", ""], ["Lasted", "number"], ["Peak", "number"], ["Samples", ""],
]);

function showStorms(storms) {
  const active = storms.filter((storm) => storm.active);
  const now = byId("storms-now");
  // Said once for each storm, not at each event: it is read aloud.
  say(now, active.length
    ? active.map((storm) => `${where(storm)} (${storm.direction}): ${storm.meaning}`).join("\n")
    : storms.length ? "No storm now." : "No storm since the exporter started.");
  kind(now, "storm", active.length > 0);
  document.title = active.length ? `(${active.length}) storm · roce_exporter` : "roce_exporter";
  if (!storms.length) return;
  if (!stormTable.own.isConnected) byId("storms-lately").append(stormTable.own, detail);
  keep(stormTable.body, storms, (storm) => storm.id, (first) => {
    const { own, cells } = stormTable.row();
    const [port, who, onset, lasted, peak, samples] = cells;
    const button = element("button", { type: "button", "aria-label": `Show samples around the storm of ${where(first)}` }, "Show");
    button.addEventListener("click", () => showStorm(first.id));
    say(port, where(first));
    say(who, `${first.meaning} (${first.direction})`);
    say(onset, new Date(first.onset_unix_seconds * 1000).toLocaleString("sv"));
    samples.append(button);
    const update = (storm) => {
      say(lasted, storm.active ? `${span(storm.lasted_seconds)}, goes on` : span(storm.lasted_seconds));
      const share = shareOf(storm.peak);
      say(peak, share === undefined ? "unknown" : storm.peak.pause_ratio === undefined ? atMost(share) : percent(share));
      kind(own, "bad", storm.active);
    };
    return { own, update };
  });
}

async function showStorm(id) {
  const answer = await fetch(`/api/v1/storms/${id}`).catch(() => null);
  if (!answer?.ok) return detail.replaceChildren(element("p", { class: "note" }, "This storm is not kept any more."));
  const storm = await answer.json();
  const charts = { [storm.direction]: chart(`${storm.direction} tall`) };
  const note = element("p", { class: "facts" });
  detail.replaceChildren(element("article", { class: "card" },
    element("h3", {}, `Around the storm of ${where(storm)}: ${storm.meaning}`), note, ...Object.values(charts)));
  const marks = [storm.onset_unix_seconds, storm.end_unix_seconds].filter((time) => time !== undefined);
  showSamples(charts, storm.samples, note, marks);
  note.append("; kept are those around its onset and its end, which are marked");
}

// --- Checks and sources ---

const SHADES = { critical: "bad", warning: "warn", ok: "good", unknown: "faint" };
const checkColumns = [["Device", ""], ["Check", ""], ["Status", ""], ["Found", ""], ["Wanted", ""], ["Look", ""]];
const urgent = table("What needs a look", checkColumns);
const others = table("The others", checkColumns);
const checkSummary = element("p", { class: "verdict" });
const otherChecks = element("details", {}, element("summary", {}, "Checks that are ok or cannot look"), others.own);

function showChecks({ status, findings }) {
  const box = byId("checks");
  const many = (word) => findings.filter((own) => own.status === word).length;
  say(checkSummary, findings.length
    ? ["critical", "warning", "ok", "unknown"].map((word) => `${many(word)} ${word}`).join(", ")
    : "No port is checked.");
  kind(checkSummary, "storm", status === "critical");
  kind(checkSummary, "warned", status === "warning");
  const order = ["critical", "warning", "unknown", "ok"];
  const sorted = [...findings].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  const bad = sorted.filter((own) => own.status === "critical" || own.status === "warning");
  const good = sorted.filter((own) => !bad.includes(own));
  if (!checkSummary.isConnected) box.replaceChildren(checkSummary, urgent.own, otherChecks);
  urgent.own.hidden = bad.length === 0;
  otherChecks.hidden = good.length === 0;
  for (const [own, rows] of [[urgent, bad], [others, good]]) {
    keep(own.body, rows, (row) => `${row.device}\n${row.check}`, () => {
      const { own: line, cells } = own.row();
      const [device, check, state, found, wanted, look] = cells;
      const word = element("span");
      const command = element("code");
      state.append(word);
      look.append(command);
      return { own: line, update: (row) => {
        say(device, row.device);
        say(check, row.check);
        say(word, row.inferred ? `${row.status}, inferred` : row.status);
        word.className = SHADES[row.status];
        say(found, row.found ?? row.reason ?? "");
        say(wanted, row.wanted);
        say(command, row.look);
      } };
    });
  }
}

const sourceTable = table("Where the counters come from", [
  ["Source", ""], ["State", ""], ["Age", "number"], ["Interval", "number"], ["Read takes", "number"], ["Missed", "number"], ["Errors", ""], ["Metrics", ""],
]);

function showSources(sources) {
  if (!sourceTable.own.isConnected) byId("sources").replaceChildren(sourceTable.own);
  const name = (own) => [nameOf(own.device), own.rdma_device && `${own.rdma_device}${own.port === undefined ? "" : `/${own.port}`}`, own.source].filter(Boolean).join(" · ");
  const time = (seconds) => (seconds === undefined ? "none yet" : span(seconds));
  keep(sourceTable.body, sources, name, (first) => {
    const { own, cells } = sourceTable.row();
    const [title, state, age, interval, read, missed, errors, metrics] = cells;
    const word = element("span");
    const summary = element("summary");
    const list = element("p", { class: "facts" });
    metrics.append(element("details", {}, summary, list));
    state.append(word);
    say(title, name(first));
    return { own, update: (now) => {
      say(word, now.stale ? "stale" : now.samples ? "read" : "not read");
      word.className = now.stale || !now.samples ? "bad" : "good";
      say(age, time(now.age_seconds));
      say(interval, now.refresh_seconds === undefined ? time(now.interval_seconds) : `${time(now.interval_seconds)}, renewed each ${span(now.refresh_seconds)}`);
      say(read, time(now.mean_read_seconds));
      say(missed, count(now.missed));
      say(errors, Object.entries(now.errors).map(([reason, times]) => `${reason} ${count(times)}`).join(", ") || "none");
      say(summary, `${now.metrics.length}`);
      summary.setAttribute("aria-label", `${now.metrics.length} metrics of ${name(now)}`);
      say(list, now.metrics.join(", "));
    } };
  });
}

// --- Events ---

const live = byId("live");
let silence;

function state(words, shade) {
  say(live, words);
  live.className = `badge ${shade}`;
}

function heard() {
  state("live", "good");
  clearTimeout(silence);
  silence = setTimeout(() => state("no figures for 5 s", "bad"), SILENCE_MILLISECONDS);
}

function show(figures) {
  heard();
  remember(figures.trends);
  showStorms(figures.storms);
  showDevices(figures.devices);
  if (figures.checks) showChecks(figures.checks);
  if (figures.sources) showSources(figures.sources);
}

function listen() {
  const stream = new EventSource("/api/v1/events");
  stream.addEventListener("figures", (event) => show(JSON.parse(event.data)));
  // Each time it opens: what was missed is in the trends.
  stream.addEventListener("open", async () => {
    const answer = await fetch("/api/v1/trends").catch(() => null);
    if (answer?.ok) remember((await answer.json()).trends);
  });
  // The browser itself tries again after a broken connection, and not after a refusal.
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) return;
    clearTimeout(silence);
    state("refused: trying again", "bad");
    setTimeout(listen, SILENCE_MILLISECONDS);
  });
}

listen();
