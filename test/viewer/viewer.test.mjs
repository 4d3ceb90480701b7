// viewer.test.mjs: opens replays in headless Chromium from file:// and looks at the pixels.
//   cd viewer && npm ci && npm run build && npm test
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CHROMIUM, haveChromium, launch, need, open, until } from './browser.mjs';
import { ball, ballAt, embed, f32, runAt, runReplay, throwReplay, zooReplay } from './sample.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const template = join(root, 'viewer/dist/index.html');
const skip = haveChromium ? false : `${CHROMIUM} is not installed (apt-get install chromium)`;
const sample = join(process.env.TG_BUILD ?? join(root, 'build/release'), 'test/output_sample');
const PIXELS = 3; // a body may be drawn so far from its projection

let browser, folder;
before(async () => {
  assert.ok(existsSync(template), 'viewer/dist/index.html is missing: npm run build first');
  folder = mkdtempSync(join(tmpdir(), 'tangere-viewer-'));
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function show(name, replay, options) {
  const path = join(folder, `${name}.html`);
  writeFileSync(path, typeof replay === 'string' ? replay : embed(template, replay));
  return { url: pathToFileURL(path).href, ...(await open(browser, pathToFileURL(path).href, options)) };
}

const sub = (a, b) => a.map((x, i) => x - b[i]);
const dot = (a, b) => a.reduce((s, x, i) => s + x * b[i], 0);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => a.map((x) => x / Math.hypot(...a));

// pinhole camera, written apart from the viewer: only its pose and field of view are asked for
function project(camera, p) {
  const ahead = unit(sub(camera.target, camera.position));
  const right = unit(cross(ahead, camera.up));
  const above = cross(right, ahead);
  const d = sub(p, camera.position);
  const scale = camera.rect.height / 2 / Math.tan((camera.fov * Math.PI) / 360) / dot(d, ahead);
  return [
    camera.rect.left + camera.rect.width / 2 + dot(d, right) * scale,
    camera.rect.top + camera.rect.height / 2 - dot(d, above) * scale,
  ];
}

async function picture(page) {
  return need('pngjs').PNG.sync.read(await page.screenshot());
}

// middles of the pixels of the view (not of the panel) whose colour satisfies `is`
async function pixels(page, is) {
  const image = await picture(page);
  const { width, height } = (await page.evaluate(() => window.__tangere.camera())).rect;
  const found = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const i = 4 * (y * image.width + x);
      if (is(image.data[i], image.data[i + 1], image.data[i + 2])) found.push([x + 0.5, y + 0.5]);
    }
  }
  return found;
}
const isMagenta = (r, g, b) => Math.min(r, b) >= 60 && Math.min(r, b) - g >= 50;
const isArrow = (r, g, b) => r > 170 && g < 110 && b < 110;

// centre and number of the magenta pixels
async function magenta(page) {
  const found = await pixels(page, isMagenta);
  const n = found.length;
  return { n, at: [0, 1].map((k) => found.reduce((sum, p) => sum + p[k], 0) / n) };
}

test('bodies are drawn where the trajectory projects, from file://, with no errors and no requests', { skip }, async () => {
  const { page, errors, requests, url } = await show('throw', throwReplay());
  assert.equal(await page.evaluate(() => window.__tangere.ready), true);
  assert.equal(await page.evaluate(() => window.__tangere.frames()), ball.nframe);
  let worst = 0;
  const seen = [];
  for (const frame of [0, 60, 140, 200]) {
    await page.evaluate((f) => window.__tangere.setFrame(f), frame);
    const camera = await page.evaluate(() => window.__tangere.camera());
    const p = ballAt(ball.last, frame);
    const want = project(camera, p);
    const own = await page.evaluate((q) => window.__tangere.project(...q), p);
    assert.ok(Math.hypot(...sub(own, want)) < 0.1, `frame ${frame}: the viewer projects to ${own}, the test to ${want}`);
    const { n, at } = await magenta(page);
    const off = Math.hypot(...sub(at, want));
    worst = Math.max(worst, off);
    assert.ok(n > 100, `frame ${frame}: the ball fills only ${n} pixels`);
    assert.ok(off < PIXELS, `frame ${frame}: drawn at ${at}, projected to ${want}, ${off.toFixed(2)} pixels apart`);
    seen.push(at);
  }
  assert.ok(Math.hypot(...sub(seen[1], seen[3])) > 50, 'the ball hardly moved between frames');
  // the other iterate is drawn at its own place
  await page.evaluate(() => { window.__tangere.select(0, -1); window.__tangere.setFrame(120); });
  const { at } = await magenta(page);
  const want = project(await page.evaluate(() => window.__tangere.camera()), ballAt(ball.first, 120));
  assert.ok(Math.hypot(...sub(at, want)) < PIXELS, `first iterate: drawn at ${at}, projected to ${want}`);
  console.log(`largest distance between drawn and projected body: ${worst.toFixed(2)} pixels`);
  assert.equal(await page.evaluate(() => window.pwned), undefined, 'a script in the title ran');
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, [url]);
  await page.context().close();
});

// test/output/scene.h: the ball of the last iterate at frame i
const sceneBall = (i, t = 0.005 * i) => [2 * t, -0.4 * t, 0.5 + 4 * t - 0.5 * 9.81 * t * t];
const noSample = existsSync(sample) ? false : `${sample} is not built (cmake --build --preset release --target output_sample)`;

test('a replay that the engine wrote is drawn the same', { skip: skip || noSample }, async () => {
  execFileSync(sample, [folder, template]);
  const { page, errors } = await show('engine', readFileSync(join(folder, 'replay.html'), 'utf8'));
  assert.equal(await page.evaluate(() => window.__tangere.frames()), 161);
  for (const frame of [10, 150]) {
    await page.evaluate((f) => window.__tangere.setFrame(f), frame);
    const want = project(await page.evaluate(() => window.__tangere.camera()), sceneBall(frame));
    const { n, at } = await magenta(page);
    assert.ok(n > 100 && Math.hypot(...sub(at, want)) < PIXELS, `frame ${frame}: drawn at ${at}, projected to ${want}`);
  }
  const panel = await page.locator('#panel').innerText();
  assert.ok(panel.includes('A throw <b>& more</b>') && panel.includes('adam'), panel);
  assert.equal(await page.evaluate(() => window.pwned), undefined, 'a script in a name ran');
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('contact forces are arrows from the contact along the force, and can be hidden', { skip }, async () => {
  const replay = throwReplay();
  const { page, errors } = await show('arrows', replay);
  await page.evaluate(() => window.__tangere.select(1, -1));
  const camera = await page.evaluate(() => window.__tangere.camera());
  const lengths = [];
  for (const i of [0, 20]) {
    await page.evaluate((f) => window.__tangere.setFrame(f), i);
    const red = await pixels(page, isArrow);
    assert.ok(red.length > 40, `frame ${i}: the arrow has ${red.length} pixels`);
    // the contact is at the world's origin; the arrow's middle line is the projected line along the force
    const from = project(camera, [0, 0, 0]);
    const along = unit(sub(project(camera, [0.02 * i, 0, 0.8 - 0.02 * i]), from));
    const off = red.map((p) => Math.abs(along[0] * (p[1] - from[1]) - along[1] * (p[0] - from[0])));
    const ahead = red.map((p) => dot(along, sub(p, from)));
    assert.ok(Math.max(...off) < 14, `frame ${i}: a pixel of the arrow is ${Math.max(...off)} beside the force's line`);
    assert.ok(Math.min(...ahead) > -8, `frame ${i}: the arrow starts ${-Math.min(...ahead)} pixels before the contact`);
    lengths.push(Math.max(...ahead));
  }
  // 8 N and 4 sqrt(2) N, seen nearly alike
  assert.ok(lengths[0] > 1.15 * lengths[1], `8 N is ${lengths[0]} pixels long and 5.7 N ${lengths[1]}`);
  await page.getByRole('button', { name: 'Forces' }).click();
  await page.evaluate(() => window.__tangere.setFrame(20));
  assert.equal((await pixels(page, isArrow)).length, 0, 'hidden arrows are still drawn');
  await page.getByRole('button', { name: 'Forces' }).click();
  await page.evaluate(() => window.__tangere.setFrame(60));
  assert.equal((await pixels(page, isArrow)).length, 0, 'an arrow without a contact');
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('the camera follows what runs away', { skip }, async () => {
  const { page, errors } = await show('run', runReplay());
  assert.equal(await page.getByRole('button', { name: 'Follow' }).getAttribute('aria-pressed'), 'true');
  const ats = [];
  for (const frame of [0, 250, 499]) {
    await page.evaluate((f) => window.__tangere.setFrame(f), frame);
    const camera = await page.evaluate(() => window.__tangere.camera());
    const want = project(camera, runAt(frame));
    const { n, at } = await magenta(page);
    assert.ok(n > 300 && Math.hypot(...sub(at, want)) < PIXELS, `frame ${frame}: ${n} pixels at ${at}, projected to ${want}`);
    ats.push(camera.target[0]);
  }
  assert.ok(ats[2] - ats[0] > 20, `the camera went from ${ats[0]} to ${ats[2]}`);
  // not following, it stays and sees the whole way
  await page.getByRole('button', { name: 'Follow' }).click();
  await page.evaluate(() => window.__tangere.setFrame(0));
  const still = await page.evaluate(() => window.__tangere.camera());
  await page.evaluate(() => window.__tangere.setFrame(499));
  const moved = sub((await page.evaluate(() => window.__tangere.camera())).position, still.position);
  assert.ok(Math.hypot(...moved) < 1e-9, `the camera moved by ${moved}`);
  assert.ok((await magenta(page)).n > 0, 'the end of the way is not in view');
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('the curves move: the loss mark with the iterate, the time mark with the frame', { skip }, async () => {
  const { page, errors } = await show('curve', throwReplay());
  const read = () => page.evaluate(() => ({ loss: window.__tangere.lossMark(), time: window.__tangere.timeMark() }));
  const shot = async () => (await page.locator('#loss').screenshot()).toString('base64');
  await page.evaluate(() => { window.__tangere.select(1, 0); window.__tangere.setFrame(20); });
  const last = await read();
  const lastShot = await shot();
  await page.evaluate(() => { window.__tangere.select(0, 1); window.__tangere.setFrame(150); });
  const first = await read();
  const box = await page.locator('#loss .u-over').boundingBox();
  assert.ok(Math.abs(first.loss - box.x) < 1.5 && Math.abs(last.loss - box.x - box.width) < 1.5,
            `iterate 0 and 40 of 0..40 are marked at ${first.loss} and ${last.loss} of ${box.x} to ${box.x + box.width}`);
  assert.ok(Math.abs(first.time - last.time - (130 / 200) * box.width) < 2, `time mark went ${last.time} to ${first.time}`);
  assert.notEqual(await shot(), lastShot, 'the loss chart was not redrawn');
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('space plays and pauses, arrow keys step, the slider scrubs', { skip }, async () => {
  const { page, errors } = await show('keys', throwReplay());
  const frame = () => page.evaluate(() => window.__tangere.frame());
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await frame(), 1);
  await page.keyboard.press('End');
  assert.equal(await frame(), ball.nframe - 1);
  await page.keyboard.press('Home');
  await page.keyboard.press('Space');
  await until(page, () => window.__tangere.frame() > 5);
  await page.keyboard.press('Space');
  const held = await frame();
  await page.waitForTimeout(200);
  assert.equal(await frame(), held);
  assert.ok(held > 5 && held <= ball.nframe - 1);
  await page.locator('#scrub').fill('77');
  assert.equal(await frame(), 77);
  await page.selectOption('#shown', '0');
  // drawn with the next animation frame
  await until(page, () => document.getElementById('time').textContent === '0.308 / 0.800 s frame 77 of 200', 10);
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('every shape is drawn, in dark and light, up is against gravity', { skip }, async () => {
  for (const [gravity, up] of [[[0, 0, -9.81], [0, 0, 1]], [[0, -9.81, 0], [0, 1, 0]], [[0, 0, 0], [0, 0, 1]]]) {
    const replay = zooReplay();
    replay.model.gravity = gravity;
    for (const g of replay.model.geoms) g.rgba = g.body > 0 ? [1, 0, 1, 1] : [0.5, 0.5, 0.5, 1];
    const { page, errors } = await show('zoo', replay, { dark: up[1] === 1 });
    assert.deepEqual((await page.evaluate(() => window.__tangere.camera())).up.map((x) => x + 0), up);
    await page.evaluate(() => { window.__tangere.select(1, -1); window.__tangere.setFrame(0); });
    const image = await picture(page);
    const camera = await page.evaluate(() => window.__tangere.camera());
    for (let i = 0; i < 6; i++) {
      const z = 0.25 + 0.45 * Math.abs(Math.sin(i));
      const [x, y] = project(camera, [0.55 * (i - 2.5), 0.15 * Math.sin(2 * i), z]).map(Math.round);
      const [r, g, b] = image.data.subarray(4 * (y * image.width + x));
      assert.ok(Math.min(r, b) - g > 40, `${replay.model.geoms[i + 1].name} is not at ${x}, ${y}: rgb ${r} ${g} ${b}`);
    }
    assert.deepEqual(errors, []);
    await page.context().close();
  }
});

test('a file that lies is refused in words, not drawn', { skip }, async () => {
  const short = throwReplay();
  short.trajectories[1].body_pos = f32([1, 2, 3]);
  const future = { ...throwReplay(), version: 2 };
  const body = throwReplay();
  body.model.geoms[1].body = 7;
  const empty = readFileSync(template, 'utf8');
  for (const [name, replay, text] of [
    ['short', short, 'trajectory 1 body_pos holds 12 bytes, expected 4824'],
    ['future', future, 'This viewer shows version 1 replays, the file says 2.'],
    ['body', body, 'geom 1 names body 7 of 2'],
    ['empty', empty, 'it carries no replay'],
    ['torn', empty.replace('id="tangere-replay">', 'id="tangere-replay">{"version":1,'), "The replay's data cannot be read"],
  ]) {
    const { page } = await show(name, replay);
    assert.ok((await page.getByRole('alert').innerText()).includes(text), `${name}: ${await page.getByRole('alert').innerText()}`);
    assert.equal(await page.evaluate(() => window.__tangere.ready), false);
    await page.context().close();
  }
});

test('nothing overlaps from a phone to a wide screen', { skip }, async () => {
  for (const size of [{ width: 420, height: 800 }, { width: 900, height: 600 }, { width: 1920, height: 1080 }]) {
    const { page, errors } = await show('sizes', throwReplay(), size);
    const boxes = {};
    for (const id of ['view', 'panel', 'bar', 'scale', 'legend', 'play', 'scrub', 'time', 'speed']) {
      boxes[id] = await page.locator(`#${id}`).boundingBox();
    }
    const apart = (a, b) =>
      boxes[a].x + boxes[a].width <= boxes[b].x + 0.5 || boxes[b].x + boxes[b].width <= boxes[a].x + 0.5 ||
      boxes[a].y + boxes[a].height <= boxes[b].y + 0.5 || boxes[b].y + boxes[b].height <= boxes[a].y + 0.5;
    for (const group of [['view', 'panel', 'bar'], ['scale', 'legend'], ['play', 'scrub', 'time', 'speed']]) {
      for (const a of group) for (const b of group) assert.ok(a === b || apart(a, b), `${a} and ${b} overlap at ${size.width}`);
    }
    for (const [id, b] of Object.entries(boxes)) {
      assert.ok(b.x >= -0.5 && b.x + b.width <= size.width + 0.5, `${id} sticks out at ${size.width}`);
    }
    assert.deepEqual(errors, []);
    await page.context().close();
  }
});
