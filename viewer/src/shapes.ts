// shapes.ts: geoms as three.js meshes. Sizes are MuJoCo's; capsules and cylinders lie along their z axis.
import * as THREE from 'three';
import type { Geom, MeshData, Model, Vec3 } from './data';

// geoms that keep MuJoCo's default grey get a colour by body, so that links can be told apart
const PALETTE = ['#4f8fd0', '#e0894a', '#58a878', '#c96a8f', '#8a7fcf', '#c2a23f', '#4fa7b0', '#b5765a'];
const DEFAULT_GREY = 0.5;

export function geomColor(geom: Geom): THREE.Color {
  const [r, g, b] = geom.rgba;
  const plain = [r, g, b].every((c) => Math.abs(c - DEFAULT_GREY) < 1e-6);
  if (plain && geom.body > 0) return new THREE.Color(PALETTE[(geom.body - 1) % PALETTE.length]);
  return new THREE.Color().setRGB(r, g, b, THREE.SRGBColorSpace);
}

/// Radius of a ball around the geom's own origin that holds it; infinite for a plane.
export function geomRadius(geom: Geom, meshes: MeshData[]): number {
  const [a, b, c] = geom.size;
  switch (geom.type) {
    case 'plane': return Infinity;
    case 'sphere': return a;
    case 'capsule': return a + b;
    case 'cylinder': return Math.hypot(a, b);
    case 'ellipsoid': return Math.max(a, b, c);
    case 'box': return Math.hypot(a, b, c);
    case 'mesh': {
      const v = meshes[geom.mesh].vert;
      const [x, y, z] = geom.scale;
      let r = 0;
      for (let i = 0; i < v.length; i += 3) r = Math.max(r, Math.hypot(x * v[i], y * v[i + 1], z * v[i + 2]));
      return r;
    }
  }
}

// every other octant a little darker, so that a ball is seen to roll
function octants(ball: THREE.BufferGeometry): THREE.BufferGeometry {
  const g = ball.toNonIndexed();
  const p = g.getAttribute('position');
  const color = new Float32Array(p.count * 3);
  for (let i = 0; i < p.count; i += 3) {
    let s = 1;
    for (const axis of ['getX', 'getY', 'getZ'] as const) {
      s *= Math.sign(p[axis](i) + p[axis](i + 1) + p[axis](i + 2)) || 1;
    }
    color.fill(s > 0 ? 1 : 0.78, 3 * i, 3 * i + 9);
  }
  g.setAttribute('color', new THREE.BufferAttribute(color, 3));
  return g;
}

function meshGeometry(data: MeshData, scale: Vec3): THREE.BufferGeometry {
  const g = new THREE.BufferGeometry();
  g.setAttribute('position', new THREE.BufferAttribute(data.vert, 3));
  g.setIndex(new THREE.BufferAttribute(data.face, 1));
  const flat = g.toNonIndexed().scale(...scale); // flat shading shows the facets that contact sees
  flat.computeVertexNormals();
  return flat;
}

/// One geometry per shape; the same mesh is shared by its geoms of one scale.
export class ShapeStore {
  private meshes = new Map<string, THREE.BufferGeometry>();

  constructor(private model: Model) {}

  geometry(geom: Geom): THREE.BufferGeometry {
    const [a, b, c] = geom.size;
    switch (geom.type) {
      case 'plane': return new THREE.PlaneGeometry(2, 2);
      case 'sphere': return octants(new THREE.SphereGeometry(a, 40, 24));
      case 'ellipsoid': return octants(new THREE.SphereGeometry(1, 40, 24)).scale(a, b, c);
      case 'capsule': return new THREE.CapsuleGeometry(a, 2 * b, 10, 28).rotateX(Math.PI / 2);
      case 'cylinder': return new THREE.CylinderGeometry(a, a, 2 * b, 48).rotateX(Math.PI / 2);
      case 'box': return new THREE.BoxGeometry(2 * a, 2 * b, 2 * c);
      case 'mesh': {
        const key = [geom.mesh, ...geom.scale].join();
        let g = this.meshes.get(key);
        if (g === undefined) this.meshes.set(key, (g = meshGeometry(this.model.meshes[geom.mesh], geom.scale)));
        return g;
      }
    }
  }
}

/// A quaternion given w first.
export function quaternion(q: ArrayLike<number>, at = 0): THREE.Quaternion {
  return new THREE.Quaternion(q[at + 1], q[at + 2], q[at + 3], q[at]).normalize();
}
