// arrows.ts: contact forces as arrows, dimmed where a body hides them.
import * as THREE from 'three';
import type { Contacts, Trajectory } from './data';

const COLOR = '#e5484d';
/// An arrow is never longer than that of so many typical forces: impacts stay in the picture.
export const LONGEST = 1.6;

/// Newtons that 95 % of all contact forces stay under; 0 without contacts.
export function typicalForce(trajectories: Trajectory[]): number {
  const sizes: number[] = [];
  for (const t of trajectories) {
    const f = t.contacts?.force;
    if (f === undefined) continue;
    const stride = 3 * Math.max(1, Math.floor(f.length / 3 / 20000));
    for (let i = 0; i < f.length; i += stride) {
      const s = Math.hypot(f[i], f[i + 1], f[i + 2]);
      if (s > 0) sizes.push(s);
    }
  }
  sizes.sort((a, b) => a - b);
  return sizes.length > 0 ? sizes[Math.floor(0.95 * (sizes.length - 1))] : 0;
}

export class Arrows {
  readonly group = new THREE.Group();
  private parts: THREE.InstancedMesh[] = [];
  private capacity = 0;

  /// metres of arrow per newton, the length where arrows are cut, and the thickness of a shaft, in metres
  constructor(private scale: number, private longest: number, private radius: number, trajectories: Trajectory[]) {
    for (const t of trajectories) {
      const o = t.contacts?.offset;
      if (o !== undefined) for (let i = 1; i < o.length; i++) this.capacity = Math.max(this.capacity, o[i] - o[i - 1]);
    }
    if (this.capacity === 0) return;
    const head = 4 * radius; // length of the tip
    const shaft = new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0);
    const cone = new THREE.ConeGeometry(2.4 * radius, head, 16).translate(0, head / 2, 0);
    for (const hidden of [false, true]) {
      const material = new THREE.MeshBasicMaterial({
        color: COLOR, transparent: hidden, opacity: hidden ? 0.35 : 1, depthWrite: !hidden,
        depthFunc: hidden ? THREE.GreaterDepth : THREE.LessEqualDepth,
      });
      for (const geometry of [shaft, cone]) {
        const part = new THREE.InstancedMesh(geometry, material, this.capacity);
        part.frustumCulled = false;
        part.renderOrder = hidden ? 6 : 5;
        this.parts.push(part);
        this.group.add(part);
      }
    }
  }

  show(contacts: Contacts | null, frame: number): void {
    const from = contacts?.offset[frame] ?? 0;
    const to = contacts?.offset[frame + 1] ?? 0;
    const place = new THREE.Matrix4();
    const at = new THREE.Vector3();
    const f = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const y = new THREE.Vector3(0, 1, 0);
    let n = 0;
    for (let i = from; contacts !== null && i < to; i++) {
      f.fromArray(contacts.force, 3 * i);
      const length = Math.min(f.length() * this.scale, this.longest);
      if (!(length > 0)) continue;
      at.fromArray(contacts.pos, 3 * i);
      turn.setFromUnitVectors(y, f.normalize());
      const head = 4 * this.radius;
      const shaft = Math.max(length - head, 0);
      place.compose(at, turn, new THREE.Vector3(this.radius, shaft, this.radius));
      this.parts[0].setMatrixAt(n, place);
      this.parts[2].setMatrixAt(n, place);
      // short arrows keep their shape: the tip shrinks as a whole
      const s = Math.min(1, length / head);
      place.compose(at.addScaledVector(f, shaft), turn, new THREE.Vector3(s, s, s));
      this.parts[1].setMatrixAt(n, place);
      this.parts[3].setMatrixAt(n, place);
      n++;
    }
    for (const part of this.parts) {
      part.count = n;
      part.instanceMatrix.needsUpdate = true;
    }
  }
}

/// Sum of the sizes of the contact forces in each frame [N].
export function totalForce(t: Trajectory): Float64Array {
  const out = new Float64Array(t.nframe);
  const c = t.contacts;
  if (c === null) return out;
  for (let i = 0; i < t.nframe; i++) {
    for (let k = c.offset[i]; k < c.offset[i + 1]; k++) {
      out[i] += Math.hypot(c.force[3 * k], c.force[3 * k + 1], c.force[3 * k + 2]);
    }
  }
  return out;
}
