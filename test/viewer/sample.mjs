// sample.mjs: replays made by closed formulas, written by an encoder of their own (docs/replay.md), so that the viewer
// is tested apart from the C writer.
import { readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';

const b64 = (array, ArrayType) => Buffer.from(new ArrayType(array).buffer).toString('base64');
export const f32 = (a) => b64(a, Float32Array);
export const u32 = (a) => b64(a, Uint32Array);

export const BLOCK = 128; // frames; the engine's blocks are larger
export const STEP = 2 ** -20; // metres of a count
const LEVELS = 65535;

// 32-bit words of one block as byte planes in a zlib stream
function pack(words) {
  const plane = Buffer.alloc(4 * words.length);
  words.forEach((w, i) => { for (let p = 0; p < 4; p++) plane[p * words.length + i] = (w >>> (8 * p)) & 255; });
  return deflateSync(plane).toString('base64');
}

// whole numbers as folded differences
function differences(counts, words) {
  let before = 0;
  for (const c of counts) {
    const d = (c - before) | 0;
    words.push(((d << 1) ^ (d >> 31)) >>> 0);
    before = c;
  }
}

const bits = (x) => new Uint32Array(new Float32Array([x]).buffer)[0];

function putImpacts(some, words) {
  for (const side of [0, 1]) for (const e of some) words.push(e.geom[side]);
  for (let k = 0; k < 6; k++) for (const e of some) words.push(bits((k < 3 ? e.pos : e.impulse)[k % 3]));
}

function putBetween(some, words, base, nbody) {
  for (let c = 0; c < 3 * nbody; c++) differences(some.map((e) => Math.round((e.pos[c] - base[c % 3]) / STEP)), words);
  for (let c = 0; c < 4 * nbody; c++) differences(some.map((e) => Math.round(e.quat[c] * 65536)), words);
}

/// Head and blocks of a trajectory given as plain arrays: {label, run, iteration, dt, nframe, pos, quat, offset, cpos, force,
/// impacts: [{frame, time, geom, pos, impulse}], between: [{frame, time, pos, quat}], push, pushAt, signals}.
function encode(t, nbody) {
  const nframe = t.nframe;
  const least = [Infinity, Infinity, Infinity], box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
  const moves = Array.from({ length: nbody }, () => 0);
  t.pos.forEach((v, i) => {
    least[i % 3] = Math.min(least[i % 3], v);
    if (v !== t.pos[i % (3 * nbody)]) moves[Math.floor(i / 3) % nbody] = 1;
  });
  t.quat.forEach((v, i) => { if (v !== t.quat[i % (4 * nbody)]) moves[Math.floor(i / 4) % nbody] = 1; });
  const base = least, any = moves.includes(1);
  t.pos.forEach((v, i) => {
    if (any && moves[Math.floor(i / 3) % nbody] === 0) return;
    box[i % 3] = Math.min(box[i % 3], v);
    box[3 + (i % 3)] = Math.max(box[3 + (i % 3)], v);
  });
  const signals = (t.signals ?? []).map((s) => {
    const column = (c) => Array.from({ length: s.rows }, (_, r) => s.data[r * s.parts.length + c]);
    return { ...s, low: s.parts.map((_, c) => Math.min(...column(c))), high: s.parts.map((_, c) => Math.max(...column(c))) };
  });
  const blocks = [];
  for (let from = 0; from < nframe; from += BLOCK) {
    const frames = Array.from({ length: Math.min(BLOCK, nframe - from) }, (_, i) => from + i);
    const words = [];
    for (let c = 0; c < 3 * nbody; c++) differences(frames.map((f) => Math.round((t.pos[f * 3 * nbody + c] - base[c % 3]) / STEP)), words);
    for (let c = 0; c < 4 * nbody; c++) differences(frames.map((f) => Math.round(t.quat[f * 4 * nbody + c] * 65536)), words);
    if (t.offset) {
      for (const f of frames) words.push(t.offset[f + 1] - t.offset[f]);
      const all = frames.flatMap((f) => Array.from({ length: t.offset[f + 1] - t.offset[f] }, (_, i) => t.offset[f] + i));
      for (let k = 0; k < 6; k++) for (const i of all) words.push(bits((k < 3 ? t.cpos : t.force)[3 * i + (k % 3)]));
    }
    for (const [list, write] of [[t.impacts, putImpacts], [t.between, putBetween]]) {
      if (!list) continue;
      for (const f of frames) words.push(list.filter((e) => e.frame === f).length);
      const some = list.filter((e) => frames.includes(e.frame));
      for (const e of some) words.push(bits(e.time));
      write(some, words, base, nbody);
    }
    if (t.push) for (const x of [t.push, t.pushAt]) for (let c = 0; c < 3 * nbody; c++) for (const f of frames) words.push(bits(x[f * 3 * nbody + c]));
    for (const s of signals) {
      s.parts.forEach((_, c) => differences(frames.map((f) => {
        const range = s.high[c] - s.low[c];
        return range > 0 ? Math.round(((s.data[Math.min(f, s.rows - 1) * s.parts.length + c] - s.low[c]) / range) * LEVELS) : 0;
      }), words));
    }
    blocks.push(pack(words));
  }
  const head = {
    label: t.label, run: t.run ?? 0, iteration: t.iteration ?? null, dt: t.dt, nframe, block: BLOCK, step: STEP, base, box, moves,
    ncontact: t.offset ? t.offset[nframe] : null, nimpact: t.impacts?.length ?? null, nbetween: t.between?.length ?? null, push: Boolean(t.push),
    signals: signals.map(({ name, unit, rows, parts, low, high }) => ({ name, unit, rows, parts, low, high })),
  };
  return { head, blocks };
}

/// The viewer with a replay in it, embedded as the C writer does. replay: {title, models, runs, trajectories as plain arrays}; spoil may change head and blocks.
export function embed(template, replay, spoil = () => {}) {
  const encoded = replay.trajectories.map((t) => encode(t, replay.models[replay.runs[t.run ?? 0].model].bodies.length));
  const head = { version: 3, title: replay.title, models: replay.models, runs: replay.runs, trajectories: encoded.map((e) => e.head) };
  const blocks = encoded.map((e) => e.blocks);
  spoil(head, blocks);
  const json = JSON.stringify(head).replace(/</g, '\\u003c').replace(/>/g, '\\u003e');
  let data = '';
  for (let k = 0; blocks.some((b) => k < b.length); k++) {
    blocks.forEach((b, i) => { if (k < b.length) data += `<script type="text/plain" id="tangere-${i}-${k}">${b[k]}</script>\n`; });
  }
  let page = readFileSync(template, 'utf8');
  for (const [mark, text, end] of [['id="tangere-replay">', json, '</script>'], ['id="tangere-data" hidden>', data, '</div>']]) {
    if (page.split(mark + end).length !== 2) throw new Error(`the template has not exactly one ${mark}`);
    page = page.replace(mark + end, () => mark + text + end);
  }
  return page;
}

const G = 9.81;
export const ball = { radius: 0.08, dt: 0.004, nframe: 201, first: [1.2, 0.3, 2.6], last: [2.4, -0.5, 4.2], start: [0, 0, 0.5] };

/// Where the thrown ball is at frame i, by the formula.
export function ballAt(velocity, i) {
  const t = i * ball.dt;
  const at = ball.start.map((s, k) => s + velocity[k] * t);
  at[2] -= 0.5 * G * t * t;
  return at;
}

function throwOf(label, iteration, velocity) {
  const pos = [], quat = [], offset = [0], cpos = [], force = [];
  for (let i = 0; i < ball.nframe; i++) {
    const half = i * ball.dt * 2;
    pos.push(0, 0, 0, ...ballAt(velocity, i));
    quat.push(1, 0, 0, 0, Math.cos(half), 0, Math.sin(half), 0);
    if (i < 30) {
      cpos.push(...ball.start.slice(0, 2), 0);
      force.push(0.2 * i, 0, 8 - 0.2 * i);
    }
    offset.push(cpos.length / 3);
  }
  // energies of a ball of 1 kg without spin, by the formula
  const energy = Array.from({ length: ball.nframe }, (_, i) => {
    const v = [velocity[0], velocity[1], velocity[2] - G * i * ball.dt];
    return [0.5 * v.reduce((s, x) => s + x * x, 0), G * ballAt(velocity, i)[2]];
  }).flat();
  // a gradient that grows with time, up and to the side
  const push = Array.from({ length: ball.nframe }, (_, i) => [0, 0, 0, -0.01 * i, 0, -0.02 * i]).flat();
  return {
    label, iteration, dt: ball.dt, nframe: ball.nframe, pos, quat, offset, cpos, force, push, pushAt: pos,
    signals: [
      { name: 'energy', unit: 'J', rows: ball.nframe, parts: ['kinetic', 'potential'], data: energy },
      { name: 'controls', unit: '', rows: ball.nframe - 1, parts: ['thrust'], data: Array.from({ length: ball.nframe - 1 }, (_, i) => Math.sin(0.1 * i)) },
    ],
  };
}

/// A magenta ball thrown over a plane, first and last iterate, with a hostile title.
export function throwReplay() {
  const x = Array.from({ length: 41 }, (_, i) => i);
  return {
    title: 'A throw </script><script>window.pwned=1</script>',
    models: [{
      name: 'ball <b>on</b> a plane', gravity: [0, 0, -G],
      bodies: [{ name: 'world' }, { name: 'ball' }],
      geoms: [
        { name: 'floor', body: 0, type: 'plane', size: [0, 0, 1], pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [0.5, 0.5, 0.5, 1], mesh: -1 },
        { name: 'ball', body: 1, type: 'sphere', size: [ball.radius, 0, 0], pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [1, 0, 1, 1], mesh: -1 },
      ],
      meshes: [],
    }],
    trajectories: [throwOf('first iterate', 0, ball.first), throwOf('last iterate', 40, ball.last)],
    runs: [{
      label: '', model: 0, track: 0, markers: [],
      loss: { x, y: x.map((i) => 3.1 * Math.exp(-0.22 * i) + 2e-4), label: 'loss', stage: x.map((i) => (i < 30 ? 0 : 1)), band: [0, 2.9, 3.3, 40, -1e-4, 9e-4] },
      figures: { 'final loss': 6.7e-4, 'distance to target [m]': 0.0123, iterations: 40, seed: 7, optimiser: 'lbfgs', 'contact model': 'lcp' },
    }],
  };
}

export const drop = { height: 1, dt: 0.05, radius: 0.1, rebound: 0.8, hit: Math.sqrt((2 * 0.9) / G) };

/// Height of a dropped ball's middle at time t, which bounces once.
export function dropAt(t) {
  if (t < drop.hit) return drop.height - 0.5 * G * t * t;
  const s = t - drop.hit;
  return drop.radius + drop.rebound * G * drop.hit * s - 0.5 * G * s * s;
}

/// A magenta ball dropped on a floor, in coarse frames, with the pose at its bounce and the impulses there, of two points.
export function dropReplay() {
  const nframe = 21, pos = [], quat = [], frame = Math.floor(drop.hit / drop.dt), time = drop.hit - frame * drop.dt;
  for (let i = 0; i < nframe; i++) {
    pos.push(0, 0, 0, 0, 0, dropAt(i * drop.dt));
    quat.push(1, 0, 0, 0, 1, 0, 0, 0);
  }
  const half = 0.5 * 2 * (1 + drop.rebound) * G * drop.hit; // of the impulse of 2 kg
  const impact = (x) => ({ frame, time, geom: [0, 1], pos: [x, 0, 0], impulse: [0, 0, half] });
  return {
    title: 'A drop',
    models: [{
      name: 'drop', gravity: [0, 0, -G], bodies: [{ name: 'world' }, { name: 'ball' }], meshes: [],
      geoms: [
        { name: 'floor', body: 0, type: 'plane', size: [0, 0, 1], pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [0.5, 0.5, 0.5, 1], mesh: -1 },
        { name: '', body: 1, type: 'sphere', size: [drop.radius, 0, 0], pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [1, 0, 1, 1], mesh: -1 },
      ],
    }],
    runs: [{ label: '', model: 0, track: 0, markers: [], loss: null, figures: {} }],
    trajectories: [{
      label: 'drop', dt: drop.dt, nframe, pos, quat, impacts: [impact(-0.01), impact(0.01)],
      between: [{ frame, time, pos: [0, 0, 0, 0, 0, drop.radius], quat: [1, 0, 0, 0, 1, 0, 0, 0] }],
    }],
  };
}

function quatAxis(axis, angle) {
  const n = Math.hypot(...axis), s = Math.sin(angle / 2) / n;
  return [Math.cos(angle / 2), ...axis.map((a) => a * s)];
}

/// Every geom type, several bodies, a chain that runs along x, gravity along -y when asked.
export function zooReplay() {
  const types = [
    ['sphere', [0.14, 0, 0]], ['capsule', [0.08, 0.16, 0]], ['cylinder', [0.12, 0.15, 0]],
    ['ellipsoid', [0.2, 0.12, 0.09]], ['box', [0.16, 0.11, 0.09]], ['mesh', [0, 0, 0]],
  ];
  const geoms = [{ name: 'floor', body: 0, type: 'plane', size: [0, 0, 1], pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [0.5, 0.5, 0.5, 1], mesh: -1 }];
  types.forEach(([type, size], i) => geoms.push({
    name: type, body: i + 1, type, size, pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [0.5, 0.5, 0.5, 1], mesh: type === 'mesh' ? 0 : -1,
  }));
  const k = 0.22;
  const vert = [k, 0, 0, -k, 0, 0, 0, k, 0, 0, -k, 0, 0, 0, k, 0, 0, -k];
  const face = [0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5];
  const nframe = 300, dt = 0.01;
  const make = (label, iteration, lift) => {
    const pos = [], quat = [], offset = [0], cpos = [], force = [];
    for (let f = 0; f < nframe; f++) {
      pos.push(0, 0, 0);
      quat.push(1, 0, 0, 0);
      types.forEach((_, i) => {
        const x = 0.55 * (i - 2.5), z = 0.25 + lift * Math.abs(Math.sin(0.03 * f + i));
        pos.push(x, 0.15 * Math.sin(0.02 * f + 2 * i), z);
        quat.push(...quatAxis([1, i, 0.5], 0.02 * f * (1 + 0.2 * i)));
        if (z < 0.29) {
          cpos.push(x, 0, 0);
          force.push(12 * Math.sin(0.1 * f), 0, 40 + 5 * i);
        }
      });
      offset.push(cpos.length / 3);
    }
    return { label, iteration, dt, nframe, pos, quat, offset, cpos, force };
  };
  return {
    title: 'All shapes',
    models: [{ name: 'zoo', gravity: [0, 0, -G], bodies: ['world', ...types.map(([t]) => t)].map((name) => ({ name })), geoms, meshes: [{ vert: f32(vert), face: u32(face) }] }],
    trajectories: [make('first iterate', 0, 0.15), make('last iterate', 5, 0.45)],
    runs: [{
      label: '', model: 0, track: 0, markers: [], figures: { note: 'drawn by formula' },
      loss: { x: [0, 1, 2, 3, 4, 5], y: [3, 2.2, null, 1.4, 1.1, 1], label: 'loss' },
    }],
  };
}

/// Where the runner's ball is at frame i.
export function runAt(i) {
  return [0.05 * i, 0.2 * Math.sin(0.05 * i), 0.3 + 0.1 * Math.abs(Math.sin(0.1 * i))];
}

/// Two bodies that travel 25 m: a magenta ball and a box beside it.
export function runReplay() {
  const nframe = 500;
  const pos = [], quat = [];
  for (let i = 0; i < nframe; i++) {
    const p = runAt(i);
    pos.push(0, 0, 0, ...p, p[0] - 0.6, p[1], 0.2);
    for (let b = 0; b < 3; b++) quat.push(1, 0, 0, 0);
  }
  const replay = zooReplay();
  const plain = { pos: [0, 0, 0], quat: [1, 0, 0, 0], mesh: -1 };
  return {
    title: 'A run', runs: [{ label: '', model: 0, track: 0, markers: [], loss: null, figures: {} }],
    models: [{
      name: 'runner', gravity: [0, 0, -G], bodies: ['world', 'ball', 'box'].map((name) => ({ name })), meshes: [],
      geoms: [
        replay.models[0].geoms[0],
        { ...plain, name: 'ball', body: 1, type: 'sphere', size: [0.1, 0, 0], rgba: [1, 0, 1, 1] },
        { ...plain, name: 'box', body: 2, type: 'box', size: [0.1, 0.1, 0.1], rgba: [0.5, 0.5, 0.5, 1] },
      ],
    }],
    trajectories: [{ label: 'run', dt: 0.01, nframe, pos, quat }],
  };
}

/// Two runs of models of their own: the throw, and a cyan box that slides beside it, slower and for longer.
export function pairReplay() {
  const a = throwReplay();
  const nframe = 101, dt = 0.02, pos = [], quat = [];
  for (let i = 0; i < nframe; i++) {
    pos.push(0, 0, 0, ...slideAt(i * dt));
    quat.push(1, 0, 0, 0, 1, 0, 0, 0);
  }
  return {
    title: 'Two runs',
    models: [a.models[0], {
      name: 'slider', gravity: [0, 0, -G], bodies: [{ name: 'world' }, { name: 'box' }], meshes: [],
      geoms: [a.models[0].geoms[0], { name: 'box', body: 1, type: 'box', size: [0.08, 0.08, 0.08], pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [0, 1, 1, 1], mesh: -1 }],
    }],
    runs: [
      { label: 'slide (lcp)', model: 1, track: 0, markers: [], loss: { x: [0, 10, 20], y: [2, 1.5, 1.2], label: 'loss' }, figures: { 'loss, best': 1.2 } },
      { ...a.runs[0], label: 'throw (barrier)', figures: { 'loss, best': 6.7e-4, steps: 200 } },
    ],
    trajectories: [{ label: 'best', run: 0, iteration: 20, dt, nframe, pos, quat }, { ...a.trajectories[1], label: 'best', run: 1 }],
  };
}

/// Where the slider is at time t.
export function slideAt(t) {
  return [0.7 * t, 0.5, 0.08];
}

const CROWD = 34; // bodies, as many as a humanoid has

/// Where body b of the crowd, from 0, is at frame i.
export function crowdAt(b, i) {
  return [0.3 * (b % 7) + 0.002 * i, 0.3 * Math.floor(b / 7), 0.4 + 0.1 * Math.sin(0.05 * i + b)];
}

/// Many bodies for many frames: one magenta ball, else capsules, with contacts and signals.
export function crowdReplay() {
  const nframe = 2600, pos = [], quat = [], offset = [0], cpos = [], force = [], data = [];
  for (let i = 0; i < nframe; i++) {
    pos.push(0, 0, 0);
    quat.push(1, 0, 0, 0);
    for (let b = 0; b < CROWD; b++) {
      pos.push(...crowdAt(b, i));
      quat.push(Math.cos(0.01 * i), 0, Math.sin(0.01 * i), 0);
    }
    for (let k = 0; k < 4; k++) {
      cpos.push(...crowdAt(k, i).slice(0, 2), 0);
      force.push(0, 0, 50 + 10 * k);
    }
    offset.push(cpos.length / 3);
    data.push(Math.sin(0.02 * i), Math.cos(0.02 * i));
  }
  const plain = { pos: [0, 0, 0], quat: [1, 0, 0, 0], mesh: -1 };
  return {
    title: 'A crowd',
    models: [{
      name: 'crowd', gravity: [0, 0, -G], bodies: Array.from({ length: CROWD + 1 }, (_, b) => ({ name: b === 0 ? 'world' : `body ${b}` })), meshes: [],
      geoms: [
        { ...plain, name: 'floor', body: 0, type: 'plane', size: [0, 0, 1], rgba: [0.5, 0.5, 0.5, 1] },
        { ...plain, name: 'ball', body: 1, type: 'sphere', size: [0.1, 0, 0], rgba: [1, 0, 1, 1] },
        ...Array.from({ length: CROWD - 1 }, (_, b) => ({ ...plain, name: `link ${b}`, body: b + 2, type: 'capsule', size: [0.05, 0.08, 0], rgba: [0.3, 0.5, 0.4, 1] })),
      ],
    }],
    runs: [{ label: '', model: 0, track: 0, markers: [], loss: null, figures: {} }],
    trajectories: [{ label: 'crowd', dt: 0.01, nframe, pos, quat, offset, cpos, force, signals: [{ name: 'waves', unit: '', rows: nframe, parts: ['sine', 'cosine'], data }] }],
  };
}
