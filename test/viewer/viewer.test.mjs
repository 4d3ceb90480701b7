// viewer.test.mjs: opens replays in headless Chromium from file:// and looks at the pixels.
//   cd viewer && npm ci && npm run build && npm test
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CHROMIUM, haveChromium, launch, need, open, unless, until } from './browser.mjs';
import { dot, isArrow, isCyan, isImpulse, isMagenta, isPurple, magenta, picture, pixels, PIXELS, project, sub, unit } from './look.mjs';
import { ball, ballAt, crowdAt, crowdReplay, drop, dropAt, dropReplay, embed, pairReplay, runAt, runReplay, slideAt, throwReplay, zooReplay } from './sample.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const template = join(root, 'viewer/dist/index.html');
const skip = unless(haveChromium, `${CHROMIUM} is not installed (apt-get install chromium)`);
const sample = join(process.env.TG_BUILD ?? join(root, 'build/release'), 'test/output_sample');
const exe = process.env.TANGERE_EXE ?? join(root, 'build/bin/tangere');

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
const noSample = unless(existsSync(sample), `${sample} is not built (cmake --build --preset release --target output_sample)`);

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
  // its impacts: after frames 2, 7 (two) and 9, with a pose at each
  const events = await page.evaluate(() => window.__tangere.events());
  assert.deepEqual(events.map((e) => e.time.toFixed(6)), ['0.011050', '0.037100', '0.038150', '0.049200']);
  assert.equal(events[1].text, 't = 0.037100 s: body 2 on ball </script><script>window.pwned=1</script> 7.8 N s');
  await page.evaluate((t) => window.__tangere.setTime(t), events[3].time);
  const there = project(await page.evaluate(() => window.__tangere.camera()), sceneBall(0, 0.0492));
  const drawn = (await magenta(page)).at;
  assert.ok(Math.hypot(...sub(drawn, there)) < PIXELS, `at an impact: drawn at ${drawn}, projected to ${there}`);
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

test('impacts are marks on the slider, with the pose and the impulse at their time', { skip }, async () => {
  const { page, errors } = await show('drop', dropReplay());
  const mark = page.locator('#marks .impact');
  assert.equal(await mark.count(), 1);
  const said = 't = 0.428353 s: ball on floor 15 N s'; // sqrt(2 x 0.9/9.81) s, 2 kg x 1.8 x 9.81 m/s^2 x that
  assert.equal(await mark.getAttribute('title'), said);
  // where the slider's handle is at that time
  const slider = await page.locator('#scrub').boundingBox(), box = await mark.boundingBox();
  const want = slider.x + 8 + ((slider.width - 16) * drop.hit) / (20 * drop.dt);
  assert.ok(Math.abs(box.x + box.width / 2 - want) < 1.5, `the mark is at ${box.x + box.width / 2}, its time at ${want}`);
  const draw = () => page.evaluate(() => window.__tangere.setTime(window.__tangere.time())); // at once, not with the next animation frame
  await mark.click();
  await draw();
  assert.ok(Math.abs(Number(await page.locator('#scrub').inputValue()) * drop.dt - drop.hit) < 1e-6, 'the handle is not at the mark');
  const state = () => page.evaluate(() => ({ time: window.__tangere.time(), frame: window.__tangere.frame() }));
  assert.ok(Math.abs((await state()).time - drop.hit) < 1e-8 && (await state()).frame === 8);
  await draw();
  const camera = await page.evaluate(() => window.__tangere.camera());
  const seen = async (z, what) => {
    const { at } = await magenta(page);
    const to = project(camera, [0, 0, z]);
    assert.ok(Math.hypot(...sub(at, to)) < PIXELS, `${what}: drawn at ${at}, projected to ${to}`);
  };
  await page.keyboard.press('c'); // arrows hide the ball
  await draw();
  await seen(drop.radius, 'at the impact');
  assert.equal((await pixels(page, isImpulse)).length, 0, 'hidden arrows are still drawn');
  await page.keyboard.press('c');
  await draw();
  // from the floor upwards, on the ball: both arrows, two centimetres apart
  const from = project(camera, [0, 0, 0]);
  const arrow = await pixels(page, isImpulse);
  assert.ok(arrow.length > 30 && Math.max(...arrow.map((p) => Math.abs(p[0] - from[0]))) < 24, `${arrow.length} pixels of arrows`);
  assert.ok(Math.min(...arrow.map((p) => p[1])) < from[1] - 40 && Math.max(...arrow.map((p) => p[1])) < from[1] + 8, 'the arrows point up');
  // between frame and impact straight to the pose of the impact, and not to the next frame
  await page.keyboard.press('c');
  for (const share of [0.5, 0.9]) {
    const t = 8 * drop.dt + share * (drop.hit - 8 * drop.dt);
    await page.evaluate((x) => window.__tangere.setTime(x), t);
    await seen(dropAt(8 * drop.dt) + share * (drop.radius - dropAt(8 * drop.dt)), `${share} of the way`);
  }
  const later = 0.5 * (drop.hit + 9 * drop.dt);
  await page.evaluate((x) => window.__tangere.setTime(x), later);
  await seen(0.5 * (drop.radius + dropAt(9 * drop.dt)), 'after the impact');
  // single steps stop at it, I goes there from afar
  await page.evaluate(() => window.__tangere.setFrame(8));
  await page.keyboard.press('ArrowRight');
  assert.ok(Math.abs((await state()).time - drop.hit) < 1e-8);
  await page.keyboard.press('ArrowRight');
  assert.ok(Math.abs((await state()).time - 9 * drop.dt) < 1e-9);
  await page.keyboard.press('ArrowLeft');
  assert.ok(Math.abs((await state()).time - drop.hit) < 1e-8);
  await page.keyboard.press('ArrowLeft');
  assert.ok(Math.abs((await state()).time - 8 * drop.dt) < 1e-9);
  await page.keyboard.press('End');
  await page.keyboard.press('Shift+I');
  assert.ok(Math.abs((await state()).time - drop.hit) < 1e-8);
  await page.keyboard.press('Shift+I'); // there is none before it
  assert.ok(Math.abs((await state()).time - drop.hit) < 1e-8);
  await page.keyboard.press('Home');
  await page.keyboard.press('i');
  assert.ok(Math.abs((await state()).time - drop.hit) < 1e-8);
  assert.ok((await page.locator('#legend').innerText()).includes('impulse of an impact') === false, 'the legend tells of arrows that are off');
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('the camera follows what runs away', { skip }, async () => {
  const { page, errors } = await show('run', runReplay());
  assert.equal(await page.locator('#follow').inputValue(), '0'); // the motion
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
  // a body alone: its place on the screen stays
  await page.selectOption('#follow', { label: 'ball' });
  const places = [];
  for (const frame of [100, 300]) {
    await page.evaluate((f) => window.__tangere.setFrame(f), frame);
    places.push((await magenta(page)).at);
  }
  assert.ok(Math.hypot(...sub(places[0], places[1])) < PIXELS, `the followed ball went from ${places[0]} to ${places[1]}`);
  // not following, it stays and sees the whole way
  await page.keyboard.press('f');
  assert.equal(await page.locator('#follow').inputValue(), '-1');
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
  const time = await page.locator('#signal .u-over').boundingBox();
  assert.ok(Math.abs(first.loss - box.x) < 1.5 && Math.abs(last.loss - box.x - box.width) < 1.5,
            `iterate 0 and 40 of 0..40 are marked at ${first.loss} and ${last.loss} of ${box.x} to ${box.x + box.width}`);
  assert.ok(Math.abs(first.time - last.time - (130 / 200) * time.width) < 2, `time mark went ${last.time} to ${first.time}`);
  assert.notEqual(await shot(), lastShot, 'the loss chart was not redrawn');
  const bars = await page.evaluate(() => window.__tangere.lossBars().map((b) => [b.x, b.low, b.high]));
  assert.deepEqual(bars, [[0, 2.9, 3.3], [40, -1e-4, 9e-4]]);
  assert.deepEqual(await page.evaluate(() => window.__tangere.lossBreaks()), [{ x: 0, name: 'stage 1' }, { x: 29.5, name: 'stage 2' }]);
  // a click on a curve goes to its time; the other way round the read-out says what the formula says
  await page.mouse.click(time.x + 0.25 * time.width, time.y + 40);
  assert.equal(await page.evaluate(() => window.__tangere.frame()), 50);
  await page.selectOption('#signals', { label: 'energy' });
  await page.selectOption('#part', { label: 'potential' });
  await page.evaluate(() => { window.__tangere.select(1, -1); window.__tangere.setFrame(70); });
  const said = parseFloat(await page.locator('#value').innerText());
  const want = 9.81 * ballAt(ball.last, 70)[2];
  assert.ok(Math.abs(said - want) < 2e-3 * want, `potential energy ${want} is told as ${said}`);
  // controls end one frame before the states do
  await page.selectOption('#signals', { label: 'controls' });
  await page.evaluate(() => window.__tangere.setFrame(199));
  assert.ok(Math.abs(parseFloat(await page.locator('#value').innerText()) - Math.sin(19.9)) < 1e-3);
  await page.evaluate(() => window.__tangere.setFrame(200));
  assert.equal(await page.locator('#value').innerText(), '');
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
    replay.models[0].gravity = gravity;
    for (const g of replay.models[0].geoms) g.rgba = g.body > 0 ? [1, 0, 1, 1] : [0.5, 0.5, 0.5, 1];
    const { page, errors } = await show('zoo', replay, { dark: up[1] === 1 });
    assert.deepEqual((await page.evaluate(() => window.__tangere.camera())).up.map((x) => x + 0), up);
    await page.evaluate(() => { window.__tangere.select(1, -1); window.__tangere.setFrame(0); });
    const image = await picture(page);
    const camera = await page.evaluate(() => window.__tangere.camera());
    for (let i = 0; i < 6; i++) {
      const z = 0.25 + 0.45 * Math.abs(Math.sin(i));
      const [x, y] = project(camera, [0.55 * (i - 2.5), 0.15 * Math.sin(2 * i), z]).map(Math.round);
      const [r, g, b] = image.data.subarray(4 * (y * image.width + x));
      assert.ok(Math.min(r, b) - g > 40, `${replay.models[0].geoms[i + 1].name} is not at ${x}, ${y}: rgb ${r} ${g} ${b}`);
    }
    assert.deepEqual(errors, []);
    await page.context().close();
  }
});

test('meshes are drawn at the scale of their geom', { skip }, async () => {
  const replay = zooReplay();
  const model = replay.models[0], solid = model.geoms.find((g) => g.type === 'mesh'), at = [[-0.6, 0, 1], [0.6, 0, 1]], scale = [0.5, 2, 1.5];
  model.bodies = ['world', 'plain', 'scaled'].map((name) => ({ name }));
  model.geoms = [{ ...solid, body: 1, rgba: [0, 1, 1, 1] }, { ...solid, body: 2, rgba: [1, 0, 1, 1], scale }];
  replay.trajectories = [{ label: 'still', dt: 0.01, nframe: 1, pos: [[0, 0, 0], ...at].flat(), quat: [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0] }];
  const { page, errors } = await show('scaled', replay);
  const camera = await page.evaluate(() => window.__tangere.camera());
  for (const [is, place, size] of [[isCyan, at[0], [1, 1, 1]], [isMagenta, at[1], scale]]) {
    const found = await pixels(page, is);
    // an octahedron's outline is that of its corners, 0.22 m from its middle
    const corners = [0, 1, 2].flatMap((k) => [-0.22, 0.22].map((x) => project(camera, place.map((p, i) => p + (i === k ? x * size[k] : 0)))));
    for (const k of [0, 1]) {
      for (const end of [Math.min, Math.max]) {
        const drawn = found.reduce((a, p) => end(a, p[k]), found[0][k]), want = corners.reduce((a, p) => end(a, p[k]), corners[0][k]);
        assert.ok(Math.abs(drawn - want) < PIXELS, `scale ${size}: the drawn outline ends at ${drawn}, the corners' at ${want}`);
      }
    }
  }
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('a file that lies is refused in words, not drawn', { skip }, async () => {
  const empty = readFileSync(template, 'utf8');
  const spoilt = (spoil) => embed(template, throwReplay(), spoil);
  const packed = (words) => deflateSync(Buffer.alloc(4 * words)).toString('base64');
  for (const [name, page, text] of [
    ['short', spoilt((_, blocks) => { blocks[1][0] = packed(10); }), 'trajectory 1 block 0 holds 40 bytes, expected 7168 or more'],
    ['long', spoilt((_, blocks) => { blocks[1][1] = packed(5000); }), 'trajectory 1 block 1 holds 20000 bytes, expected'],
    ['odd', spoilt((_, blocks) => { blocks[0][0] = deflateSync(Buffer.alloc(7)).toString('base64'); }), 'trajectory 0 block 0 holds 7 bytes'],
    ['torn block', spoilt((_, blocks) => { blocks[0][1] = blocks[0][1].slice(0, 40); }), 'trajectory 0 block 1 cannot be unpacked'],
    ['lost block', spoilt((_, blocks) => { blocks[1].pop(); }), 'trajectory 1 block 1 is missing'],
    ['impacts', embed(template, dropReplay(), (head) => { head.trajectories[0].nimpact = 1; }), '2 impacts, more than the 1 that were announced'],
    ['impact', embed(template, dropReplay(), (head) => { head.models[0].geoms.pop(); }), 'impact 0 names geom 1 of 1'],
    ['between', embed(template, dropReplay(), (head) => { head.trajectories[0].nbetween = null; }), 'bytes, expected'],
    ['contacts', spoilt((head) => { head.trajectories[0].ncontact = 3; }), '30 contacts, more than the 3 that were announced'],
    ['huge', spoilt((head) => { head.trajectories[0].nframe = 2 ** 30; }), 'more than a page holds'],
    ['old', spoilt((head) => { head.version = 2; }), 'This viewer shows version 3 replays, the file says 2: "tangere replay FOLDER" makes it anew.'],
    ['body', spoilt((head) => { head.models[0].geoms[1].body = 7; }), 'geom 1 names body 7 of 2'],
    ['model', spoilt((head) => { head.runs[0].model = 1; }), 'run 0 names model 1 of 1'],
    ['run', spoilt((head) => { head.trajectories[1].run = 1; }), 'trajectory 1 is of run 1 of 1'],
    ['empty', empty, 'it carries no replay'],
    ['torn', empty.replace('id="tangere-replay">', 'id="tangere-replay">{"version":3,'), "The replay's data cannot be read"],
  ]) {
    const { page: shown } = await show(name, page);
    const said = await shown.getByRole('alert').innerText();
    assert.ok(said.includes(text), `${name}: ${said}`);
    assert.equal(await shown.evaluate(() => window.__tangere.ready), false);
    await shown.context().close();
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

test('two runs of different models: overlaid, then side by side, at the same time', { skip }, async () => {
  const { page, errors } = await show('pair', pairReplay());
  await page.evaluate(() => window.__tangere.setFrame(125));
  const time = await page.evaluate(() => window.__tangere.time());
  assert.ok(Math.abs(time - 0.5) < 1e-9);
  let camera = await page.evaluate(() => window.__tangere.camera());
  const main = (await magenta(page)).at;
  assert.ok(Math.hypot(...sub(main, project(camera, ballAt(ball.last, 125)))) < PIXELS);
  // the ghost is grey: no cyan yet
  assert.equal((await pixels(page, isCyan)).length, 0);
  await page.getByRole('button', { name: 'Side by side' }).click();
  await page.evaluate(() => window.__tangere.setFrame(125));
  camera = await page.evaluate(() => window.__tangere.camera());
  const views = await page.evaluate(() => window.__tangere.views());
  assert.equal(views.length, 2);
  const inView = (v, p) => project({ ...camera, rect: { left: camera.rect.left + v.left, top: camera.rect.top + v.top, width: v.width, height: v.height } }, p);
  const cyan = await pixels(page, isCyan);
  const at = [0, 1].map((k) => cyan.reduce((s, p) => s + p[k], 0) / cyan.length);
  const want = [inView(views[0], ballAt(ball.last, 125)), inView(views[1], slideAt(0.5))];
  assert.ok(Math.hypot(...sub((await magenta(page)).at, want[0])) < PIXELS, 'the throw is not in the left view');
  assert.ok(cyan.length > 60 && Math.hypot(...sub(at, want[1])) < 2 * PIXELS, `the box is at ${at}, its projection in the right view at ${want[1]}`);
  // each view follows its own run: what is followed stands still in it
  await page.selectOption('#follow', '1');
  const boxes = [];
  for (const frame of [60, 150]) {
    await page.evaluate((f) => window.__tangere.setFrame(f), frame);
    const seen = await pixels(page, isCyan);
    assert.ok(seen.length > 60, `frame ${frame}: ${seen.length} pixels of the box`);
    boxes.push([0, 1].map((k) => seen.reduce((s, p) => s + p[k], 0) / seen.length));
  }
  assert.ok(Math.hypot(...sub(boxes[0], boxes[1])) < 2 * PIXELS, `the followed box went from ${boxes[0]} to ${boxes[1]}`);
  assert.deepEqual(await page.locator('#names span').allInnerTexts(), ['throw (barrier): best', 'slide (lcp): best']);
  // both losses are in the chart and both runs have a column of figures
  const panel = await page.locator('#panel').innerText();
  assert.ok(panel.includes('throw (barrier)') && panel.includes('slide (lcp)') && panel.includes('1.2'), panel);
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('the gradient is an arrow at the body, downhill', { skip }, async () => {
  const { page, errors } = await show('gradient', throwReplay());
  await page.evaluate(() => { window.__tangere.select(1, -1); window.__tangere.setFrame(150); });
  assert.ok((await pixels(page, isPurple)).length < 10);
  await page.keyboard.press('g');
  await page.evaluate(() => window.__tangere.setFrame(150));
  const camera = await page.evaluate(() => window.__tangere.camera());
  const p = ballAt(ball.last, 150);
  const from = project(camera, p);
  // the gradient there is (-1.5, 0, -3): downhill is up and ahead
  const along = unit(sub(project(camera, [p[0] + 0.015, p[1], p[2] + 0.03]), from));
  const found = await pixels(page, isPurple);
  assert.ok(found.length > 60, `${found.length} pixels of an arrow`);
  const off = found.map((q) => Math.abs(along[0] * (q[1] - from[1]) - along[1] * (q[0] - from[0])));
  const ahead = found.map((q) => dot(along, sub(q, from)));
  assert.ok(Math.max(...off) < 16 && Math.min(...ahead) > -8, `the arrow is ${Math.max(...off)} beside its line and starts ${Math.min(...ahead)} before the body`);
  assert.ok((await page.locator('#legend').textContent()).includes('per N s'));
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('a link brings back time, runs, body, camera and plot', { skip }, async () => {
  const first = await show('link', throwReplay());
  await first.page.evaluate(() => { window.__tangere.select(0, -1); window.__tangere.setFrame(60); });
  await first.page.selectOption('#follow', { label: 'ball' });
  await first.page.selectOption('#signals', { label: 'energy' });
  await first.page.selectOption('#part', { label: 'kinetic' });
  await first.page.mouse.move(300, 300);
  await first.page.mouse.down();
  await first.page.mouse.move(420, 340, { steps: 4 });
  await first.page.mouse.up();
  await first.page.getByRole('button', { name: 'Copy link' }).click();
  const link = await first.page.locator('#link').inputValue();
  const eye = await first.page.evaluate(() => window.__tangere.camera());
  assert.ok(/#t=0\.24&/.test(link) && link.includes('body=ball') && link.includes('cam='), link);
  const { page, errors } = await open(browser, link);
  assert.equal(await page.evaluate(() => window.__tangere.frame()), 60);
  assert.deepEqual(await page.evaluate(() => ['shown', 'against', 'follow', 'signals', 'part'].map((id) => document.getElementById(id).value)), ['0', '-1', '1', '1', '0']);
  const again = await page.evaluate(() => window.__tangere.camera());
  for (const k of ['position', 'target']) assert.ok(Math.hypot(...sub(again[k], eye[k])) < 1e-3, `${k} ${again[k]} is not ${eye[k]}`);
  // a link that is followed in an open page, and one that makes no sense
  await page.evaluate(() => { location.hash = '#t=0.4'; });
  await until(page, () => window.__tangere.frame() === 100, 5);
  await page.evaluate(() => { location.hash = '#t=soon&cam=1,2&shown=99&body=nobody&plot=none'; });
  await page.waitForTimeout(100);
  assert.equal(await page.evaluate(() => window.__tangere.frame()), 100);
  assert.deepEqual(errors, []);
  await first.page.context().close();
  await page.context().close();
});

test('keys: speed, side by side, dark, help', { skip }, async () => {
  const { page, errors } = await show('keys2', throwReplay());
  const speed = () => page.locator('#speed option:checked').innerText();
  await page.keyboard.press('+');
  assert.equal(await speed(), '2×');
  await page.keyboard.press('-');
  await page.keyboard.press('-');
  assert.equal(await speed(), '0.5×');
  await page.keyboard.press('s');
  assert.equal((await page.evaluate(() => window.__tangere.views())).length, 2);
  await page.keyboard.press('d');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.keyboard.press('Shift+ArrowRight');
  assert.equal(await page.evaluate(() => window.__tangere.frame()), 10);
  await page.keyboard.press('?');
  assert.ok((await page.getByRole('dialog').innerText()).includes('copy a link'));
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('dialog').count(), 0);
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('a phone: fingers find their targets, nothing sticks out', { skip }, async () => {
  const { page, errors } = await show('phone', pairReplay(), { width: 390, height: 844 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  for (const b of await page.locator('button:visible, select:visible').all()) {
    const box = await b.boundingBox();
    assert.ok(box.height >= 44 && box.width >= 44, `${await b.innerText()} is ${box.width} x ${box.height}`);
    assert.ok(box.x >= 0 && box.x + box.width <= 390);
  }
  const view = await page.locator('#view').boundingBox();
  const legend = await page.locator('#legend').boundingBox();
  assert.ok(legend.y >= view.y + view.height, 'the legend lies on the picture');
  assert.ok(view.height > 300, `the picture is ${view.height} high`);
  await page.locator('#play').tap().catch(() => page.locator('#play').click());
  await until(page, () => window.__tangere.playing(), 5);
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('a long run opens with its first block and reads the rest; a frame takes little script', { skip }, async () => {
  const path = join(folder, 'crowd.html');
  writeFileSync(path, embed(template, crowdReplay()));
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' }); // processor time of the page's thread: what else runs here does not count
  const spent = async () => (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'ScriptDuration').value;
  await page.goto(pathToFileURL(path).href);
  await until(page, () => window.__tangere !== undefined);
  const [opened, loaded] = await page.evaluate(() => [window.__tangere.opened, window.__tangere.loaded]);
  assert.ok(opened > 0 && opened < loaded, `opened at ${opened}, loaded at ${loaded}`);
  // frames of the first and of the last block are where the formula says
  for (const frame of [5, 2500]) {
    await page.evaluate((f) => window.__tangere.setFrame(f), frame);
    const want = project(await page.evaluate(() => window.__tangere.camera()), crowdAt(0, frame));
    const { n, at } = await magenta(page);
    assert.ok(n > 20 && Math.hypot(...sub(at, want)) < PIXELS, `frame ${frame}: ${n} pixels at ${at}, projected to ${want}`);
  }
  await page.evaluate(() => window.__tangere.setFrame(0));
  await page.keyboard.press('Space');
  await until(page, () => window.__tangere.frame() > 10);
  const count = () => page.evaluate(() => window.__tangere.script().length);
  const [n, s] = [await count(), await spent()];
  await until(page, `window.__tangere.script().length > ${n + 20} || !window.__tangere.playing()`);
  const each = (1000 * ((await spent()) - s)) / ((await count()) - n);
  console.log(`opened after ${opened.toFixed(0)} ms, read after ${loaded.toFixed(0)} ms; ${each.toFixed(2)} ms of script a frame`);
  assert.ok(each < 4, `${each} ms of script a frame`);
  await context.close();
});

test('a picture and a video made in the page show what the page shows', { skip }, async () => {
  const { page, errors } = await show('record', throwReplay());
  await page.evaluate(() => window.__tangere.select(1, -1));
  const length = await page.evaluate(() => window.__tangere.makePicture(640, 400, 60));
  const image = need('pngjs').PNG.sync.read(Buffer.from(await page.evaluate((n) => window.__tangere.made(0, n), length), 'base64'));
  assert.deepEqual([image.width, image.height], [640, 400]);
  const found = [];
  for (let i = 0; i < 640 * 400; i++) if (isMagenta(...image.data.subarray(4 * i, 4 * i + 3))) found.push(i);
  assert.ok(found.length > 60, `${found.length} pixels of the ball in the picture`);
  // the page is as it was
  assert.equal(await page.evaluate(() => window.__tangere.frame()), 0);
  const video = await page.evaluate(async () => window.__tangere.made(0, await window.__tangere.makeVideo(320, 200, 20, 0.5)));
  await page.context().close();
  // played elsewhere: 0.8 s at half speed, the ball at two places
  const context = await browser.newContext({ viewport: { width: 320, height: 200 } });
  const player = await context.newPage();
  await player.setContent('<body style="margin:0"><video muted></video>');
  const info = await player.evaluate(async (data) => {
    const v = document.querySelector('video');
    v.src = `data:video/webm;base64,${data}`;
    await new Promise((done, fail) => { v.onloadeddata = done; v.onerror = () => fail(new Error(v.error.message)); });
    return [v.duration, v.videoWidth, v.videoHeight];
  }, video);
  assert.ok(Math.abs(info[0] - 1.65) < 0.06 && info[1] === 320 && info[2] === 200, String(info));
  const places = [];
  for (const time of [0.2, 1.4]) {
    await player.evaluate(async (t) => { const v = document.querySelector('video'); v.currentTime = t; await new Promise((done) => { v.onseeked = done; }); }, time);
    const shot = need('pngjs').PNG.sync.read(await player.screenshot());
    const seen = [];
    for (let i = 0; i < 320 * 200; i++) if (isMagenta(...shot.data.subarray(4 * i, 4 * i + 3))) seen.push(i % 320);
    assert.ok(seen.length > 10, `at ${time} s ${seen.length} pixels of the ball`);
    places.push(seen.reduce((a, b) => a + b, 0) / seen.length);
  }
  assert.ok(places[1] - places[0] > 30, `the ball went from ${places[0]} to ${places[1]}`);
  assert.deepEqual(errors, []);
  await context.close();
});

const noExe = existsSync(exe) ? false : `${exe} is not built`;

test('tangere replay --live: a newer page is shown from the same place, Ctrl-C ends it', { skip: skip || noExe }, async () => {
  const run = join(folder, 'live');
  mkdirSync(run);
  const write = (replay) => {
    writeFileSync(join(run, 'new'), embed(template, replay));
    renameSync(join(run, 'new'), join(run, 'replay.html'));
  };
  const server = spawn(exe, ['replay', run, '--live'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((done) => server.on('exit', (code) => done(code)));
  let said = '';
  server.stderr.on('data', (text) => { said += text; });
  for (let i = 0; i < 200 && !said.includes('http://'); i++) await new Promise((done) => setTimeout(done, 50));
  const url = said.match(/http:\/\/127\.0\.0\.1:\d+\//)?.[0];
  assert.ok(url, said);
  try {
    // nothing yet; nobody from elsewhere, no other address, no other method
    assert.ok((await (await fetch(url)).text()).includes('Waiting for the first result'));
    assert.equal((await fetch(`${url}run.json`)).status, 404);
    assert.equal((await fetch(url, { method: 'POST', body: 'x' })).status, 405);
    const first = throwReplay();
    first.runs[0].figures = { 'loss, best': 0.25 };
    write(first);
    const { page, errors } = await open(browser, url);
    await page.evaluate(() => window.__tangere.setFrame(60));
    await page.selectOption('#follow', { label: 'ball' });
    await page.keyboard.press('g');
    const before = await page.evaluate(() => window.__tangere.camera());
    const second = throwReplay();
    second.runs[0].figures = { 'loss, best': 0.125 };
    write(second);
    await until(page, () => document.getElementById('panel').textContent.includes('0.125'), 30);
    assert.equal(await page.evaluate(() => window.__tangere.frame()), 60);
    assert.equal(await page.locator('#follow').inputValue(), '1');
    assert.equal(await page.getByRole('button', { name: 'Gradient' }).getAttribute('aria-pressed'), 'true');
    const after = await page.evaluate(() => window.__tangere.camera());
    assert.ok(Math.hypot(...sub(after.position, before.position)) < 1e-3, `the camera went from ${before.position} to ${after.position}`);
    const { n } = await magenta(page);
    assert.ok(n > 100, `${n} pixels of the ball after the change`);
    server.kill('SIGINT');
    assert.equal(await ended, 0);
    await until(page, () => document.getElementById('live').textContent.includes('no longer live'), 30);
    assert.deepEqual(errors.filter((e) => !e.includes('ERR_CONNECTION_REFUSED') && !e.includes('Context Lost')), []);
    await page.context().close();
  } finally {
    server.kill('SIGKILL');
  }
});
