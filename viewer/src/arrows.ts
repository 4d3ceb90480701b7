// arrows.ts: vectors at points of the world as arrows, dimmed where a body hides them.
import * as THREE from 'three';
import type { Trajectory } from './data';

/// An arrow is never longer than that of so many typical ones: impacts stay in the picture.
export const LONGEST = 1.6;

/// Size that 95 % of the vectors that are not zero stay under; 0 without any.
export function typicalSize(lists: Float32Array[]): number {
  const sizes: number[] = [];
  for (const f of lists) {
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
  private scale = 0; // metres of arrow per unit; 0: nothing is drawn
  private longest = 0; // metres
  private readonly place = new THREE.Matrix4();
  private readonly at = new THREE.Vector3();
  private readonly f = new THREE.Vector3();
  private readonly size = new THREE.Vector3();
  private readonly turn = new THREE.Quaternion();
  private readonly y = new THREE.Vector3(0, 1, 0);

  /// thickness of a shaft in metres
  constructor(private color: string, private radius: number) {}

  /// An arrow of a typical vector is `length` metres long.
  measure(typical: number, length: number): void {
    this.scale = typical > 0 ? length / typical : 0;
    this.longest = LONGEST * length;
  }

  private grow(n: number): void {
    if (n <= this.capacity) return;
    this.capacity = Math.max(n, 2 * this.capacity, 16);
    for (const p of this.parts) p.dispose();
    this.group.clear();
    this.parts = [];
    const head = 4 * this.radius; // length of the tip
    const shaft = new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0);
    const cone = new THREE.ConeGeometry(2.4 * this.radius, head, 16).translate(0, head / 2, 0);
    for (const hidden of [false, true]) {
      const material = new THREE.MeshBasicMaterial({
        color: this.color, transparent: hidden, opacity: hidden ? 0.35 : 1, depthWrite: !hidden,
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

  /// Arrows from points `from` to `to` - 1, along their vectors or, with sign -1, against them.
  show(points: Float32Array | null, vectors: Float32Array | null, from: number, to: number, sign = 1): void {
    let n = 0;
    if (points !== null && vectors !== null && this.scale > 0) {
      this.grow(to - from);
      for (let i = from; i < to; i++) n += this.put(n, points, vectors, i, sign);
    }
    for (const part of this.parts) {
      part.count = n;
      part.instanceMatrix.needsUpdate = true;
    }
  }

  private put(n: number, points: Float32Array, vectors: Float32Array, i: number, sign: number): number {
    const { f, at, place, size } = this;
    f.fromArray(vectors, 3 * i).multiplyScalar(sign);
    const length = Math.min(f.length() * this.scale, this.longest);
    if (!(length > 0)) return 0;
    at.fromArray(points, 3 * i);
    this.turn.setFromUnitVectors(this.y, f.normalize());
    const head = 4 * this.radius;
    const shaft = Math.max(length - head, 0);
    place.compose(at, this.turn, size.set(this.radius, shaft, this.radius));
    this.parts[0].setMatrixAt(n, place);
    this.parts[2].setMatrixAt(n, place);
    // short arrows keep their shape: the tip shrinks as a whole
    const s = Math.min(1, length / head);
    place.compose(at.addScaledVector(f, shaft), this.turn, size.set(s, s, s));
    this.parts[1].setMatrixAt(n, place);
    this.parts[3].setMatrixAt(n, place);
    return 1;
  }
}

/// Sum of the sizes of the contact forces in each frame [N]; null where nothing is loaded yet.
export function totalForce(t: Trajectory): (number | null)[] {
  const out = new Array<number | null>(t.nframe).fill(null);
  const c = t.contacts;
  for (let i = 0; c !== null && i < t.loaded; i++) {
    let sum = 0;
    for (let k = c.offset[i]; k < c.offset[i + 1]; k++) sum += Math.hypot(c.force[3 * k], c.force[3 * k + 1], c.force[3 * k + 2]);
    // contacts are those of the step that begins at a frame: the last frame has none to tell of
    out[i] = i === t.nframe - 1 && sum === 0 && i > 0 ? null : sum;
  }
  return out;
}
