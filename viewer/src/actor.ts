// actor.ts: the bodies of one model as three.js groups, posed from a trajectory, in full colour or as a ghost.
import * as THREE from 'three';
import type { Model, Sheet } from './data';
import { geomColor, quaternion, type ShapeStore } from './shapes';
import type { Leg } from './way';

export class Actor {
  readonly root = new THREE.Group();
  private bodies: THREE.Group[];
  private meshes: { mesh: THREE.Mesh; full: THREE.Material; solid: boolean; still: boolean }[] = [];
  private sheets: { sheet: Sheet; mesh: THREE.Mesh; full: THREE.Material }[] = [];
  private readonly p = new THREE.Vector3();
  private readonly q = new THREE.Quaternion();

  constructor(readonly model: Model, store: ShapeStore, private ghostMaterial: THREE.Material) {
    this.bodies = model.bodies.map(() => {
      const b = new THREE.Group();
      this.root.add(b);
      return b;
    });
    for (const geom of model.geoms) {
      if (geom.type === 'plane') continue;
      const geometry = store.geometry(geom);
      const alpha = geom.rgba[3];
      const full = new THREE.MeshStandardMaterial({
        color: geomColor(geom), roughness: 0.55, metalness: 0.02, transparent: alpha < 1, opacity: alpha,
        vertexColors: geometry.hasAttribute('color'),
      });
      const mesh = new THREE.Mesh(geometry, full);
      mesh.position.set(...geom.pos);
      mesh.quaternion.copy(quaternion(geom.quat));
      mesh.userData.role = geom.role;
      mesh.userData.body = geom.body;
      this.meshes.push({ mesh, full, solid: alpha > 0.6, still: geom.body === 0 });
      this.bodies[geom.body].add(mesh);
    }
    for (const sheet of model.sheets) {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(sheet.pos.length), 3));
      geometry.setIndex(new THREE.BufferAttribute(sheet.face, 1));
      const [r, g, b, alpha] = sheet.rgba;
      const full = new THREE.MeshStandardMaterial({
        color: new THREE.Color().setRGB(r, g, b, THREE.SRGBColorSpace), roughness: 0.8, side: THREE.DoubleSide,
        transparent: alpha < 1, opacity: alpha,
      });
      const mesh = new THREE.Mesh(geometry, full);
      mesh.frustumCulled = false;
      this.sheets.push({ sheet, mesh, full });
      this.root.add(mesh);
    }
    this.show(false, false);
  }

  /// ghost: clear and grey, without what belongs to the world; collision: the shapes that collide in place of those for the eye.
  show(ghost: boolean, collision: boolean): void {
    for (const { mesh, full, solid, still } of this.meshes) {
      mesh.material = ghost ? this.ghostMaterial : full;
      mesh.castShadow = !ghost && solid;
      mesh.receiveShadow = !ghost;
      mesh.renderOrder = ghost ? 2 : 0;
      mesh.visible = mesh.userData.role !== (collision ? 'visual' : 'collision') && !(ghost && still);
    }
    for (const { mesh, full } of this.sheets) {
      mesh.material = ghost ? this.ghostMaterial : full;
      mesh.castShadow = mesh.receiveShadow = !ghost;
      mesh.renderOrder = ghost ? 2 : 0;
    }
  }

  /// On the way from a pose to another.
  pose({ from, to, part }: Leg): void {
    const n = this.bodies.length;
    for (let b = 0; b < n; b++) {
      const body = this.bodies[b];
      const i = from.at * n + b;
      body.position.fromArray(from.pos, 3 * i);
      turnOf(from.quat, i, body.quaternion);
      if (part > 1e-5) {
        const k = to.at * n + b;
        body.position.lerp(this.p.fromArray(to.pos, 3 * k), part);
        body.quaternion.slerp(turnOf(to.quat, k, this.q), part);
      }
    }
    for (const { sheet, mesh } of this.sheets) {
      const at = mesh.geometry.getAttribute('position') as THREE.BufferAttribute;
      for (let i = 0; i < sheet.body.length; i++) {
        const body = this.bodies[sheet.body[i]];
        this.p.fromArray(sheet.pos, 3 * i).applyQuaternion(body.quaternion).add(body.position);
        at.setXYZ(i, this.p.x, this.p.y, this.p.z);
      }
      at.needsUpdate = true;
      mesh.geometry.computeVertexNormals(); // smooth over the sheet
    }
  }
}

function turnOf(quat: Float32Array, i: number, q: THREE.Quaternion): THREE.Quaternion {
  return q.set(quat[4 * i + 1], quat[4 * i + 2], quat[4 * i + 3], quat[4 * i]).normalize();
}
