// Renders one dashboard with Grafana's own components. What Grafana does not publish is done here: queries, variables,
// rows, and the registry of the field options that the dashboards use.
import {
  applyFieldOverrides, cacheFieldDisplayNames, createTheme, dateTime, FieldType, getFieldDisplayValues, Registry,
  standardFieldConfigEditorRegistry, standardTransformers, standardTransformersRegistry, ThemeContext, toDataFrame,
  transformDataFrame, VizOrientation,
} from '@grafana/data';
import { BarGauge, BigValue, GlobalStyles, PanelChrome, TimeSeries } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

// What the dashboards use of the options that Grafana registers in code it does not publish.
const identity = (value) => value;
const option = (id, path, custom = false, extra = {}) => ({
  id, path, name: id, isCustom: custom, process: identity, shouldApply: () => true, override: () => null,
  editor: () => null, settings: {}, ...extra,
});
const CUSTOM = ['drawStyle', 'lineWidth', 'fillOpacity', 'showPoints', 'spanNulls', 'lineInterpolation', 'stacking', 'align', 'minWidth', 'width', 'cellOptions'];
const STANDARD = ['unit', 'min', 'max', 'decimals', 'displayName', 'noValue', 'links', 'color', 'mappings', 'thresholds'];
const standard = () => STANDARD.map((id) => option(id, id));
standardFieldConfigEditorRegistry.setInit(standard);
const fieldOptions = new Registry(() => [...standard(), ...CUSTOM.map((id) => option(`custom.${id}`, id, true))]);
standardTransformersRegistry.setInit(() =>
  // Some of them are listed under two names.
  [...new Set(Object.values(standardTransformers))].map((transformation) => ({
    id: transformation.id, name: transformation.name, transformation: async () => transformation, editor: () => null,
  })),
);

const { dashboard, prometheus, from, to, theme: mode, rateInterval, variables } = window.preview;
const theme = createTheme({ colors: { mode } });
const timeRange = { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: dateTime(from * 1000), to: dateTime(to * 1000) } };
const report = { empty: [], failed: [] };
window.report = report;

const all = Object.fromEntries(dashboard.templating.list.map((variable) => [variable.name, variable.allValue ?? '']));
const interpolate = (text) =>
  text.replace(/\$__range|\$__rate_interval|\$(\w+)/g, (found, name) => {
    if (found === '$__range') return `${to - from}s`;
    if (found === '$__rate_interval') return rateInterval;
    return variables[name] ?? all[name] ?? found;
  });

async function ask(target, width) {
  const query = encodeURIComponent(interpolate(target.expr));
  const step = Math.max(1, Math.ceil((to - from) / width));
  const path = target.instant ? `query?query=${query}&time=${to}` : `query_range?query=${query}&start=${from}&end=${to}&step=${step}`;
  const answer = await (await fetch(`${prometheus}/api/v1/${path}`)).json();
  if (answer.status !== 'success') throw new Error(`${answer.error}: ${target.expr}`);
  return answer.data.result.map((series) => ({ labels: series.metric, points: series.values ?? [series.value], step }));
}

const legend = (format, labels) =>
  format ? format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? '') : JSON.stringify(labels);

// One frame per series, with holes where a step has no value.
function seriesFrame(target, { labels, points, step }) {
  const times = [], values = [];
  let last;
  for (const [at, value] of points) {
    if (last !== undefined && at - last > step * 1.5) { times.push((last + step) * 1000); values.push(null); }
    times.push(at * 1000); values.push(Number(value)); last = at;
  }
  return toDataFrame({
    refId: target.refId, name: legend(target.legendFormat, labels),
    fields: [
      { name: 'Time', type: FieldType.time, values: times },
      { name: 'Value', type: FieldType.number, values, labels, config: { displayNameFromDS: legend(target.legendFormat, labels) } },
    ],
  });
}

// One frame per query, a row per series, as Grafana's format "table".
function tableFrame(target, series, several) {
  const names = [...new Set(series.flatMap((one) => Object.keys(one.labels)))].sort();
  return toDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: series.map((one) => one.points.at(-1)[0] * 1000) },
      ...names.map((name) => ({ name, type: FieldType.string, values: series.map((one) => one.labels[name] ?? '') })),
      { name: several ? `Value #${target.refId}` : 'Value', type: FieldType.number, values: series.map((one) => Number(one.points.at(-1)[1])) },
    ],
  });
}

const transformed = (frames, panel) =>
  new Promise((resolve, reject) =>
    transformDataFrame(panel.transformations ?? [], frames, { interpolate: identity }).subscribe({ next: resolve, error: reject }),
  );

async function frames(panel, width) {
  const targets = panel.targets ?? [];
  const answers = await Promise.all(targets.map((target) => ask(target, panel.maxDataPoints ?? width)));
  const made = answers.flatMap((series, index) => {
    const target = targets[index];
    if (target.format === 'table') return series.length ? [tableFrame(target, series, targets.length > 1)] : [];
    return series.map((one) => seriesFrame(target, one));
  });
  const overridden = applyFieldOverrides({
    data: await transformed(made, panel), fieldConfig: panel.fieldConfig, fieldConfigRegistry: fieldOptions,
    replaceVariables: identity, theme, timeZone: 'utc',
  });
  cacheFieldDisplayNames(overridden);
  return overridden;
}

const shown = (found, panel) =>
  getFieldDisplayValues({
    fieldConfig: panel.fieldConfig, reduceOptions: panel.options.reduceOptions, replaceVariables: identity,
    theme, data: found, timeZone: 'utc',
  });

function Stat({ found, panel, width, height }) {
  const [value] = shown(found, panel);
  return <BigValue width={width} height={height} theme={theme} value={{ ...value.display, title: '' }} {...panel.options} />;
}

function Bars({ found, panel, width, height }) {
  const values = shown(found, panel);
  const each = Math.min(26, Math.max(panel.options.minVizHeight, height / values.length - 4));
  const longest = values.reduce((most, one) => (one.display.title.length > most.length ? one.display.title : most), '');
  const widest = values.reduce((most, one) => (one.display.text.length > most.length ? one.display.text : most), '');
  return values.map(({ display, field, view, colIndex }, index) => (
    <div key={index} style={{ marginBottom: 4 }}>
      <BarGauge theme={theme} width={width} height={each} value={display} field={field} orientation={VizOrientation.Horizontal}
        display={view?.getFieldDisplayProcessor(colIndex)} displayMode={panel.options.displayMode} itemSpacing={4}
        alignmentFactors={{ title: longest, text: widest, suffix: display.suffix }} showUnfilled={panel.options.showUnfilled}
        valueDisplayMode={panel.options.valueMode} namePlacement={panel.options.namePlacement} />
    </div>
  ));
}

function Body({ found, panel, width, height }) {
  if (panel.type === 'text') return <div>{panel.options.content}</div>;
  if (found.length === 0 || found.every((frame) => frame.length === 0)) {
    const text = panel.fieldConfig?.defaults?.noValue ?? 'No data';
    return <div style={{ display: 'flex', height, alignItems: 'center', justifyContent: 'center', color: theme.colors.text.secondary }}>{text}</div>;
  }
  const properties = { found, panel, width, height };
  if (panel.type === 'stat') return <Stat {...properties} />;
  if (panel.type === 'bargauge') return <Bars {...properties} />;
  if (panel.type === 'table') {
    return <TableNG data={found[0]} width={width} height={height} sortBy={panel.options.sortBy} cellHeight={panel.options.cellHeight}
      fieldConfig={panel.fieldConfig} timeRange={timeRange} enableVirtualization={false} structureRev={1} />;
  }
  return <TimeSeries frames={found} width={width} height={height} timeRange={timeRange} timeZone="utc" legend={panel.options.legend} options={panel.options} />;
}

const UNIT = 38, GAP = 8;

function Panel({ panel, page, done }) {
  const [found, setFound] = useState();
  const column = (page - GAP) / 24;
  const { x, y, w, h } = panel.gridPos;
  const [width, height] = [w * column - GAP, h * UNIT - GAP];
  useEffect(() => {
    if (panel.type === 'row') return done();
    frames(panel, width)
      .then((made) => {
        if (panel.type !== 'text' && made.every((frame) => frame.length === 0)) report.empty.push(panel.title);
        setFound(made);
      })
      .catch((error) => report.failed.push(`${panel.title}: ${error}`))
      .finally(done);
  }, []);
  const place = { position: 'absolute', left: x * column + GAP, top: y * UNIT, width, height };
  if (panel.type === 'row') return <div style={{ ...place, fontSize: 16, fontWeight: 500, lineHeight: `${UNIT}px` }}>{panel.title}</div>;
  return (
    <div style={place}>
      <PanelChrome title={panel.title} description={panel.description} width={width} height={height} padding="md">
        {(innerWidth, innerHeight) => found && <Body found={found} panel={panel} width={innerWidth} height={innerHeight} />}
      </PanelChrome>
    </div>
  );
}

function Page() {
  const [left, setLeft] = useState(dashboard.panels.length);
  useEffect(() => { if (left === 0) setTimeout(() => { window.rendered = true; }, 800); }, [left]);
  const rows = Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const page = document.documentElement.clientWidth;
  return (
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <h1 style={{ margin: '8px 8px 4px', fontSize: 20 }}>{dashboard.title}</h1>
      <div style={{ position: 'relative', height: rows * UNIT + GAP }}>
        {dashboard.panels.map((panel) => (
          <Panel key={panel.id} panel={panel} page={page} done={() => setLeft((count) => count - 1)} />
        ))}
      </div>
    </ThemeContext.Provider>
  );
}

document.body.style.margin = '0';
document.body.style.background = theme.colors.background.canvas;
createRoot(document.getElementById('root')).render(<Page />);
