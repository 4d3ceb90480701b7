// motion.ts: where and how far a trajectory goes, for framing it and for following it.
import * as THREE from 'three';
import type { Marker, Model, Trajectory } from './data';
import { geomRadius } from './shapes';

export interface Motion {
  box: THREE.Box3; // all that moves over all the time
  track: Float32Array; // centre of what moves, per frame, smoothed
  radius: number; // of what moves, at one time
  travel: THREE.Vector3; // from first to last
}

/// Of the frames that are there; the box is the whole motion's.
export function motionOf(t: Trajectory, model: Model, markers: Marker[]): Motion {
  const geoms = model.geoms.filter((g) => g.type !== 'plane');
  const some = geoms.filter((g) => t.moves[g.body]);
  const used = (some.length > 0 ? some : geoms).map((geom) => ({
    geom, radius: geomRadius(geom, model.meshes), local: new THREE.Vector3(...geom.pos),
  }));
  const now = new THREE.Box3();
  const all = new THREE.Box3();
  const point = new THREE.Vector3();
  const corner = new THREE.Vector3();
  const turn = new THREE.Quaternion();
  const track = new Float32Array(3 * t.nframe);
  const stride = Math.max(1, Math.floor(t.nframe / 400));
  let radius = 0;
  for (let i = 0; i < t.loaded; i += stride) {
    now.makeEmpty();
    for (const u of used) {
      const b = i * t.nbody + u.geom.body;
      turn.set(t.quat[4 * b + 1], t.quat[4 * b + 2], t.quat[4 * b + 3], t.quat[4 * b]);
      point.copy(u.local).applyQuaternion(turn);
      point.x += t.pos[3 * b];
      point.y += t.pos[3 * b + 1];
      point.z += t.pos[3 * b + 2];
      corner.setScalar(u.radius);
      now.expandByPoint(point.clone().add(corner)).expandByPoint(point.sub(corner));
    }
    if (now.isEmpty()) now.set(new THREE.Vector3(-0.5, -0.5, -0.5), new THREE.Vector3(0.5, 0.5, 0.5));
    all.union(now);
    radius = Math.max(radius, now.getSize(point).length() / 2);
    now.getCenter(point);
    for (let k = i; k < Math.min(i + stride, t.nframe); k++) point.toArray(track, 3 * k);
  }
  const last = 3 * (t.loaded - 1);
  for (let i = t.loaded; i < t.nframe; i++) track.copyWithin(3 * i, last, last + 3);
  // bodies' origins are known for all frames; shapes reach as far beyond them as in the frames that are there
  const box = all.clone();
  if (t.loaded < t.nframe) box.union(reached(t, all));
  for (const m of markers) box.expandByPoint(point.set(...m.pos));
  const smooth = smoothTrack(track, Math.round(0.35 / t.dt));
  const n = 3 * (t.nframe - 1);
  return { box, track: smooth, radius, travel: new THREE.Vector3(track[n] - track[0], track[n + 1] - track[1], track[n + 2] - track[2]) };
}

function reached(t: Trajectory, all: THREE.Box3): THREE.Box3 {
  const origins = new THREE.Box3();
  const p = new THREE.Vector3();
  for (let i = 0; i < t.loaded * t.nbody; i++) if (t.moves[i % t.nbody]) origins.expandByPoint(p.fromArray(t.pos, 3 * i));
  if (origins.isEmpty()) return all;
  const whole = new THREE.Box3(new THREE.Vector3().fromArray(t.box, 0), new THREE.Vector3().fromArray(t.box, 3));
  whole.min.add(all.min).sub(origins.min);
  whole.max.add(all.max).sub(origins.max);
  return whole;
}

// two moving averages of the given half width in frames, narrower towards the ends so that these keep their place
function smoothTrack(track: Float32Array, half: number): Float32Array {
  const n = track.length / 3;
  let from = track;
  for (let pass = 0; pass < 2; pass++) {
    const to = new Float32Array(track.length);
    for (let k = 0; k < 3; k++) {
      const sum = new Float64Array(n + 1); // of all before i
      for (let i = 0; i < n; i++) sum[i + 1] = sum[i] + from[3 * i + k];
      for (let i = 0; i < n; i++) {
        const w = Math.min(half, i, n - 1 - i);
        to[3 * i + k] = (sum[i + w + 1] - sum[i - w]) / (2 * w + 1);
      }
    }
    from = to;
  }
  return from;
}
