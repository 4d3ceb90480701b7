// shot.mjs: a picture of a replay, for the README and for looking at one without a screen.
//   node viewer/shot.mjs REPLAY.html PICTURE.png [--frame N | --impact K] [--dark] [--size 1280x800]
// --impact K: at the time of the K-th impact, from 1, with the pointer on its mark.
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { launch, open } from '../test/viewer/browser.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { frame: { type: 'string', default: '0' }, impact: { type: 'string' }, dark: { type: 'boolean', default: false }, size: { type: 'string', default: '1280x800' } },
});
if (positionals.length !== 2) {
  console.error('usage: node viewer/shot.mjs REPLAY.html PICTURE.png [--frame N | --impact K] [--dark] [--size 1280x800]');
  process.exit(1);
}
const [width, height] = values.size.split('x').map(Number);
const browser = await launch();
const { page, errors } = await open(browser, pathToFileURL(positionals[0]).href, { width, height, dark: values.dark });
await page.evaluate((i) => window.__tangere.setFrame?.(i), Number(values.frame));
if (values.impact !== undefined) {
  await page.locator('#marks .impact').nth(Number(values.impact) - 1).click();
  await page.waitForTimeout(300);
}
await page.screenshot({ path: positionals[1] });
await browser.close();
for (const e of errors) console.error(e);
process.exit(errors.length > 0 ? 4 : 0);
