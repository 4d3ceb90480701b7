// measure.mjs: how fast a replay opens and how much script a frame takes, in a headless Chromium started anew each time.
//   node viewer/measure.mjs REPLAY.html|URL [--times 7] [--size 1280x800]
// opened: from the page's start to its first picture [ms]; read: to its last block [ms], with the processor time of the page's thread until then, which other
// work on the machine does not lengthen; script: processor time of the page's script while it plays [ms a frame]. Of a simulation that runs (the address that
// `tangere view` says): opened, script a drawing, with a goal's gradient in it, and how many pictures came a second.
import { statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { launch, until } from '../test/viewer/browser.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true, options: { times: { type: 'string', default: '7' }, size: { type: 'string', default: '1280x800' } },
});
if (positionals.length !== 1) {
  console.error('usage: node viewer/measure.mjs REPLAY.html|URL [--times 7] [--size 1280x800]');
  process.exit(1);
}
const live = /^http:/.test(positionals[0]);
const [width, height] = values.size.split('x').map(Number);

async function once() {
  const browser = await launch();
  const page = await (await browser.newContext({ viewport: { width, height } })).newPage();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const metric = async (name) => (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === name).value;
  const spent = () => metric('ScriptDuration');
  await page.goto(live ? positionals[0] : pathToFileURL(positionals[0]).href);
  await until(page, () => window.__tangere !== undefined);
  const busy = 1000 * (await metric('TaskDuration'));
  const { opened, loaded, error } = await page.evaluate(() => ({ ...window.__tangere }));
  if (error !== undefined) throw new Error(error);
  if (live) {
    await page.evaluate(() => window.__tangere.command({ run: true, goal: { body: 1, of: 'x', steps: 10 } }));
    await until(page, () => window.__tangere.picture()?.goal);
    const counts = () => page.evaluate(() => [window.__tangere.pictures(), window.__tangere.drawings()]);
    const [before, s, t] = [await counts(), await spent(), performance.now()];
    await page.waitForTimeout(3000);
    const [came, drawn] = (await counts()).map((n, k) => n - before[k]);
    const rates = [(1000 * ((await spent()) - s)) / drawn, came / ((performance.now() - t) / 1000)];
    await browser.close();
    return [opened, ...rates, busy];
  }
  const frames = () => page.evaluate(() => window.__tangere.script().length);
  await page.keyboard.press('Space');
  await until(page, () => window.__tangere.frame() > 10);
  const [n, s] = [await frames(), await spent()];
  await until(page, `window.__tangere.script().length > ${n + 60} || !window.__tangere.playing()`);
  const script = (1000 * ((await spent()) - s)) / ((await frames()) - n);
  await browser.close();
  return [opened, loaded, busy, script];
}

const runs = [];
for (let i = 0; i < Number(values.times); i++) runs.push(await once());
const told = (k, digits) => {
  const x = runs.map((r) => r[k]).sort((a, b) => a - b);
  return `${x[x.length >> 1].toFixed(digits)} (${x[0].toFixed(digits)} to ${x[x.length - 1].toFixed(digits)})`;
};
if (live) console.log(`opened ${told(0, 0)} ms, of processor time ${told(3, 0)} ms; script ${told(1, 2)} ms a drawing; ${told(2, 1)} pictures a second; load average ${loadavg()[0].toFixed(2)}`);
else {
  console.log(`${(statSync(positionals[0]).size / 1e6).toFixed(2)} MB; median (least to most) of ${runs.length}; load average ${loadavg()[0].toFixed(2)}`);
  console.log(`opened ${told(0, 0)} ms; read ${told(1, 0)} ms, of processor time ${told(2, 0)} ms; script ${told(3, 2)} ms a frame`);
}
