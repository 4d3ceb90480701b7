// notebook.test.mjs: what tangere.Replay gives a notebook, shown as Jupyter shows it, in headless Chromium. No Jupyter is needed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CHROMIUM, haveChromium, launch, need, unless, until } from './browser.mjs';
import { isMagenta, PIXELS, project, sub } from './look.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const template = join(root, 'viewer/dist/index.html');
const skip = unless(haveChromium, `${CHROMIUM} is not installed (apt-get install chromium)`);

const python = process.env.TANGERE_PYTHON ?? join(root, 'build/venv/bin/python');
const thrown = { radius: 0.1, dt: 0.01, steps: 40, from: [0, 0, 0.4], velocity: [2, 0.5, 3] };

// what a notebook is given for the last line of its cell, by the package of this environment; '' where there is none
function notebookOutput() {
  const model = `<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='${thrown.from.join(' ')}'><freejoint/><geom size='${thrown.radius}' rgba='1 0 1 1'/></body></worldbody></mujoco>`;
  const cell = `import tangere as tg
sim = tg.Sim(tg.loads("${model}"), dt=${thrown.dt})
print(tg.Replay(sim.rollout(steps=${thrown.steps}, v0=[${thrown.velocity}, 0, 0, 0]), height=500)._repr_html_())`;
  try {
    return execFileSync(python, ['-c', cell], { encoding: 'utf8', maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TANGERE_VIEWER: template } });
  } catch (e) {
    if (e.code === 'ENOENT' || /No module named/.test(e.stderr)) return '';
    throw e;
  }
}

// where the thrown ball is after i steps: v' = v - g h, z' = z + h v'
const thrownAt = (i) => thrown.from.map((x, k) => x + i * thrown.dt * thrown.velocity[k] - (k === 2 ? (9.81 * thrown.dt ** 2 * i * (i + 1)) / 2 : 0));

test('the output of a notebook\'s cell is drawn in its frame', { skip }, async (t) => {
  const output = notebookOutput();
  if (output === '') return t.skip(unless(false, `${python} has no tangere (make python-package)`));
  // as Jupyter does it: the text becomes the inside of an element that is there already
  const text = JSON.stringify(output).replace(/</g, '\\u003c');
  const folder = mkdtempSync(join(tmpdir(), 'tangere-notebook-')), path = join(folder, 'notebook.html');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(path, `<!doctype html><style>* { color: red; margin: 9px }</style><p>In [1]:</p><div id="out"></div><script>document.getElementById('out').innerHTML = ${text}</script>`);
  const browser = await launch();
  t.after(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
  const page = await context.newPage();
  const errors = [], requests = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && errors.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => errors.push(String(e)));
  page.on('request', (r) => requests.push(r.url()));
  await page.goto(pathToFileURL(path).href);
  const frame = page.frames().find((f) => f !== page.mainFrame());
  await until(frame, () => window.__tangere?.ready === true);
  assert.equal(await frame.evaluate(() => window.__tangere.frames()), thrown.steps + 1);
  const box = await page.locator('iframe').boundingBox();
  assert.ok(box.width > 900 && box.height >= 500, `the frame is ${box.width} x ${box.height}`);
  for (const i of [0, 15, 40]) {
    await frame.evaluate((f) => window.__tangere.setFrame(f), i);
    const camera = await frame.evaluate(() => window.__tangere.camera());
    const found = [], image = need('pngjs').PNG.sync.read(await page.locator('iframe').screenshot());
    for (let k = 0; k < image.width * image.height; k++) if (isMagenta(...image.data.subarray(4 * k, 4 * k + 3))) found.push([(k % image.width) + 0.5, Math.floor(k / image.width) + 0.5]);
    const at = [0, 1].map((k) => found.reduce((sum, p) => sum + p[k], 0) / found.length), want = project(camera, thrownAt(i));
    assert.ok(found.length > 50 && Math.hypot(...sub(at, want)) < PIXELS, `frame ${i}: ${found.length} pixels at ${at}, projected to ${want}`);
  }
  // keys and buttons work in there too, without what the sandbox forbids
  await frame.locator('#view').click({ position: { x: 20, y: 200 } });
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  assert.equal(await frame.evaluate(() => window.__tangere.frame()), 1);
  await frame.getByRole('button', { name: 'Copy link' }).click();
  assert.match(await frame.locator('#link').inputValue(), /t=0.01(&|$)/);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests.filter((url) => !url.startsWith('about:srcdoc')), [pathToFileURL(path).href]);
});
