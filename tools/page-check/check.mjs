// Opens the status page in headless Chromium and prints, as JSON, what a person would meet there.
//
// check.mjs PACKAGES URL OUTPUT NAME [--width PIXELS]... [--theme dark|light]... [--storms N] [--open]
// PACKAGES has the node_modules; pictures go to OUTPUT/NAME-THEME-WIDTH.png. --storms: how long a storm takes from
// the metrics to the page; further ones, up to N, while that is more than a second. --open: what can be unfolded is.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    width: { type: 'string', multiple: true, default: ['390', '1280'] },
    theme: { type: 'string', multiple: true, default: ['dark', 'light'] },
    storms: { type: 'string', default: '0' }, open: { type: 'boolean', default: false },
    settle: { type: 'string', default: '1500' },
  },
});
const [packages, address, output, name] = positionals;
const require = createRequire(join(resolve(packages), 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const host = new URL(address).host;
const PATIENCE = 60_000;

mkdirSync(output, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });

// A page whose complaints and requests are noted.
async function opened(width, theme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const report = { theme, width, errors: [], elsewhere: [], refused: [] };
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) report.errors.push(message.text()); });
  page.on('pageerror', (error) => report.errors.push(String(error)));
  page.on('request', (request) => { if (new URL(request.url()).host !== host) report.elsewhere.push(request.url()); });
  page.on('response', (response) => { if (response.status() >= 400) report.refused.push(`${response.status()} ${response.url()}`); });
  await page.goto(address);
  await page.waitForFunction(() => document.querySelector('#live').textContent === 'live' && document.querySelector('#sources table'), null, { timeout: PATIENCE });
  return { context, page, report };
}

// Faults of accessibility that axe calls serious or worse. Not by a script tag: the page's policy forbids that.
async function faults(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter((own) => ['serious', 'critical'].includes(own.impact))
    .map((own) => `${own.id}: ${own.nodes.slice(0, 3).map((node) => node.html).join(' ')}`);
}

// What the page shows, with the metric that each figure is of.
const figures = (page) => page.$$eval('[data-metric]', (all) => all.map((own) => ({ ...own.dataset, text: own.textContent })));

// What the first press of Tab leads to.
async function firstByKey(page) {
  await page.keyboard.press('Tab');
  return page.evaluate(() => document.activeElement.className);
}

// How much of what can be used is not reached by key.
async function unreached(page) {
  const wanted = await page.$$eval('a, button, summary', (all) => all.filter((own) => own.checkVisibility()).length);
  const reached = new Set();
  for (let presses = 0; presses < wanted + 40; presses += 1) {
    const place = await page.evaluate(() => [...document.querySelectorAll('a, button, summary')].indexOf(document.activeElement));
    if (place >= 0) reached.add(place);
    await page.keyboard.press('Tab');
  }
  return Math.max(0, wanted - reached.size);
}

// How long the page takes to tell of storms that the metrics have, in milliseconds, and what it says.
async function storms(page, many) {
  const active = async () => /^roce_pfc_storm_active\{.*\} 1$/m.test(await (await fetch(new URL('/metrics', address))).text());
  const told = () => page.$eval('#storms-now', (own) => (own.classList.contains('storm') ? own.textContent : ''));
  const until = async (wanted) => {
    for (const since = Date.now(); !(await wanted());) {
      if (Date.now() - since > PATIENCE) throw new Error('no storm came or went in time');
      await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
    return Date.now();
  };
  const delays = [];
  for (let count = 0; count < many; count += 1) {
    await until(async () => !(await active()) && !(await told()));
    const began = await until(active);
    const milliseconds = (await until(told)) - began;
    delays.push({ milliseconds, words: await told(), title: await page.title() });
    if (milliseconds <= 1000) break;
  }
  return delays;
}

const reports = [];
for (const theme of flags.theme) {
  for (const width of flags.width.map(Number)) {
    const { context, page, report } = await opened(width, theme);
    if (reports.length === 0) report.storms = await storms(page, Number(flags.storms));
    const first = await firstByKey(page);
    if (flags.open) {
      for (const own of await page.$$('summary')) await own.click();
      const button = await page.$('#storms-lately button');
      await button?.click();
    }
    await page.waitForTimeout(Number(flags.settle));
    report.figures = await figures(page);
    report.charts = await page.$$eval('svg.chart .mean', (all) => all.length);
    report.text = await page.$eval('main', (own) => own.innerText);
    report.overflows = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    report.faults = await faults(page);
    report.keys = { first, unreached: await unreached(page) };
    await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
    report.picture = join(output, `${name}-${theme}-${width}.png`);
    await page.screenshot({ path: report.picture, fullPage: true });
    reports.push(report);
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(reports));
