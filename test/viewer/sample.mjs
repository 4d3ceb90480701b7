// sample.mjs: replays made by closed formulas, written by an encoder of their own (docs/replay.md), so that the viewer
// is tested apart from the C writer.
import { readFileSync } from 'node:fs';

const b64 = (array, ArrayType) => Buffer.from(new ArrayType(array).buffer).toString('base64');
export const f32 = (a) => b64(a, Float32Array);
export const u32 = (a) => b64(a, Uint32Array);

/// The viewer with a replay in it, embedded as the C writer does.
export function embed(template, replay) {
  const json = JSON.stringify(replay).replace(/</g, '\\u003c').replace(/>/g, '\\u003e');
  const page = readFileSync(template, 'utf8');
  const mark = 'id="tangere-replay"></script>';
  if (page.split(mark).length !== 2) throw new Error('the template has not exactly one place for the replay');
  return page.replace(mark, () => `id="tangere-replay">${json}</script>`);
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
  return {
    label, iteration, dt: ball.dt, nframe: ball.nframe, body_pos: f32(pos), body_quat: f32(quat),
    contacts: { offset: u32(offset), pos: f32(cpos), force: f32(force) },
  };
}

/// A magenta ball thrown over a plane, first and last iterate, with a hostile title.
export function throwReplay() {
  const x = Array.from({ length: 41 }, (_, i) => i);
  return {
    version: 1,
    title: 'A throw </script><script>window.pwned=1</script>',
    model: {
      name: 'ball <b>on</b> a plane', gravity: [0, 0, -G],
      bodies: [{ name: 'world' }, { name: 'ball' }],
      geoms: [
        { name: 'floor', body: 0, type: 'plane', size: [0, 0, 1], pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [0.5, 0.5, 0.5, 1], mesh: -1 },
        { name: 'ball', body: 1, type: 'sphere', size: [ball.radius, 0, 0], pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [1, 0, 1, 1], mesh: -1 },
      ],
      meshes: [],
    },
    trajectories: [throwOf('first iterate', 0, ball.first), throwOf('last iterate', 40, ball.last)],
    loss: { x, y: x.map((i) => 3.1 * Math.exp(-0.22 * i) + 2e-4), label: 'loss' },
    figures: { 'final loss': 6.7e-4, 'distance to target [m]': 0.0123, iterations: 40, seed: 7, optimiser: 'lbfgs', 'contact model': 'lcp' },
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
    return { label, iteration, dt, nframe, body_pos: f32(pos), body_quat: f32(quat), contacts: { offset: u32(offset), pos: f32(cpos), force: f32(force) } };
  };
  return {
    version: 1, title: 'All shapes', figures: { note: 'drawn by formula' },
    model: { name: 'zoo', gravity: [0, 0, -G], bodies: ['world', ...types.map(([t]) => t)].map((name) => ({ name })), geoms, meshes: [{ vert: f32(vert), face: u32(face) }] },
    trajectories: [make('first iterate', 0, 0.15), make('last iterate', 5, 0.45)],
    loss: { x: [0, 1, 2, 3, 4, 5], y: [3, 2.2, null, 1.4, 1.1, 1], label: 'loss' },
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
    ...replay, title: 'A run', loss: null, figures: {},
    model: {
      name: 'runner', gravity: [0, 0, -G], bodies: ['world', 'ball', 'box'].map((name) => ({ name })), meshes: [],
      geoms: [
        replay.model.geoms[0],
        { ...plain, name: 'ball', body: 1, type: 'sphere', size: [0.1, 0, 0], rgba: [1, 0, 1, 1] },
        { ...plain, name: 'box', body: 2, type: 'box', size: [0.1, 0.1, 0.1], rgba: [0.5, 0.5, 0.5, 1] },
      ],
    },
    trajectories: [{ label: 'run', dt: 0.01, nframe, body_pos: f32(pos), body_quat: f32(quat), contacts: null }],
  };
}
