// Prints JSON schemas of a dashboard and of the panels' options, made from the types of @grafana/schema:
// schema.mjs DIRECTORY, where DIRECTORY has the node_modules.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const modules = resolve(process.argv[2]);
const require = createRequire(join(modules, 'package.json'));
const { createGenerator } = require('ts-json-schema-generator');

const raw = './node_modules/@grafana/schema/dist/types/raw';
const panels = { timeseries: true, stat: false, table: false, bargauge: false, text: false };
// A dashboard may leave options out: Grafana fills in defaults. Names must differ from Grafana's own.
const types = [`import type { Dashboard } from '${raw}/dashboard/x/types.gen';`, 'export type RoceDashboard = Dashboard;'];
for (const [panel, hasFields] of Object.entries(panels)) {
  const from = `${raw}/composable/${panel}/panelcfg/x/types.gen`;
  types.push(`import type { Options as ${panel}Options } from '${from}';`);
  types.push(`export type Roce_${panel}_options = Partial<${panel}Options>;`);
  if (hasFields) {
    types.push(`import type { FieldConfig as ${panel}Fields } from '${from}';`);
    types.push(`export type Roce_${panel}_fields = ${panel}Fields;`);
  }
}

const directory = mkdtempSync(join(tmpdir(), 'dashboard-schema-'));
try {
  symlinkSync(join(modules, 'node_modules'), join(directory, 'node_modules'));
  const path = join(directory, 'types.ts');
  writeFileSync(path, types.join('\n'));
  const tsconfig = join(directory, 'tsconfig.json');
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions: { strict: true, skipLibCheck: true, module: 'esnext', moduleResolution: 'bundler', target: 'es2022', types: [] }, files: ['types.ts'] }));
  const generator = createGenerator({ path, tsconfig, skipTypeCheck: true, additionalProperties: false });
  const schema = (type) => generator.createSchema(type);
  const made = { dashboard: schema('RoceDashboard') };
  for (const [panel, hasFields] of Object.entries(panels)) {
    made[`${panel}/options`] = schema(`Roce_${panel}_options`);
    if (hasFields) made[`${panel}/fields`] = schema(`Roce_${panel}_fields`);
  }
  process.stdout.write(JSON.stringify(made));
} finally {
  rmSync(directory, { recursive: true });
}
