// Renders dashboards from a Prometheus in headless Chromium and prints, as JSON, which panels were empty or failed.
//
// preview.mjs PACKAGES PROMETHEUS OUTPUT NAME [--range SECONDS] [--end UNIX] [--rate-interval SPAN] [--width PIXELS]...
//   [--theme dark|light]... [--screen] [--variable NAME=REGEX]... DASHBOARD.json...
// PACKAGES has the node_modules; pictures go to OUTPUT/NAME-DASHBOARD-THEME-WIDTH.png. --screen: the first screen only.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, copyFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    range: { type: 'string', default: '60' }, end: { type: 'string' }, 'rate-interval': { type: 'string', default: '4s' },
    width: { type: 'string', multiple: true, default: ['1280', '1920'] },
    theme: { type: 'string', multiple: true, default: ['dark', 'light'] },
    screen: { type: 'boolean', default: false }, variable: { type: 'string', multiple: true, default: [] },
  },
});
const [packages, prometheus, output, name, ...dashboards] = positionals;
const modules = resolve(packages);
const require = createRequire(join(modules, 'package.json'));
const esbuild = require('esbuild');
const { chromium } = require('playwright-core');

async function bundle() {
  const directory = mkdtempSync(join(tmpdir(), 'dashboard-preview-'));
  try {
    symlinkSync(join(modules, 'node_modules'), join(directory, 'node_modules'));
    copyFileSync(new URL('page.jsx', import.meta.url), join(directory, 'page.jsx'));
    const built = await esbuild.build({
      entryPoints: [join(directory, 'page.jsx')], bundle: true, write: false, outdir: directory, format: 'esm', jsx: 'automatic',
      define: { 'process.env.NODE_ENV': '"production"', global: 'window' }, logLevel: 'error', minify: true,
      loader: Object.fromEntries(['.svg', '.ttf', '.woff', '.woff2', '.png', '.gif'].map((kind) => [kind, 'dataurl'])),
    });
    return Object.fromEntries(built.outputFiles.map((file) => [`/${basename(file.path)}`, file.contents]));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const files = await bundle();
// The page and the queries have one origin, so that Prometheus need not allow another.
const server = createServer(async (request, response) => {
  if (request.url.startsWith('/api/')) {
    const answer = await fetch(prometheus + request.url);
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    return response.end(Buffer.from(await answer.arrayBuffer()));
  }
  const file = files[request.url];
  if (file) {
    response.writeHead(200, { 'content-type': request.url.endsWith('.css') ? 'text/css' : 'text/javascript' });
    return response.end(file);
  }
  if (request.url !== '/') return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'text/html' });
  const styles = Object.keys(files).filter((path) => path.endsWith('.css')).map((path) => `<link rel="stylesheet" href="${path}">`);
  response.end(`<!doctype html><meta charset="utf-8">${styles.join('')}<body><div id="root"></div><script type="module" src="/page.js"></script>`);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const path = process.env.CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-gpu'] });
const report = [];
try {
  mkdirSync(output, { recursive: true });
  const to = Number(flags.end ?? Math.floor(Date.now() / 1000));
  for (const file of dashboards) {
    const dashboard = JSON.parse(readFileSync(file, 'utf8'));
    for (const theme of flags.theme) {
      for (const width of flags.width.map(Number)) {
        const page = await browser.newPage({ viewport: { width, height: Math.round(width * 0.5625) } });
        const errors = [];
        page.on('pageerror', (error) => errors.push(String(error)));
        const variables = Object.fromEntries(flags.variable.map((one) => one.split(/=(.*)/s)));
        const preview = { dashboard, prometheus: '', from: to - Number(flags.range), to, theme, rateInterval: flags['rate-interval'], variables };
        await page.addInitScript((given) => { window.preview = given; }, preview);
        await page.goto(`http://127.0.0.1:${server.address().port}/`);
        await page.waitForFunction(() => window.rendered, undefined, { timeout: 60000 }).catch((error) => errors.push(String(error)));
        // Tables draw only rows that are on the screen.
        const height = flags.screen ? Math.round(width * 0.5625) : await page.evaluate(() => document.documentElement.scrollHeight);
        await page.setViewportSize({ width, height });
        await page.waitForTimeout(700);
        const picture = join(output, `${name}-${dashboard.uid}-${theme}-${width}.png`);
        await page.screenshot({ path: picture });
        const overflowing = await page.evaluate(() => (document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['the page'] : []));
        report.push({ dashboard: dashboard.uid, theme, width, picture, errors, overflowing, ...(await page.evaluate(() => window.report)) });
        await page.close();
      }
    }
  }
} finally {
  await browser.close();
  server.close();
}
process.stdout.write(JSON.stringify(report, undefined, 1) + '\n');
