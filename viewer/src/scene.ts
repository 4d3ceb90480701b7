// scene.ts: the world in 3D: bodies, ghost or second view, path, arrows, light, and a camera that may follow.
//
// The camera's up is against gravity. Its default view has the main horizontal travel from left to right, or +x to the
// right when nothing travels, and holds the whole motion, or follows it when the motion is much larger than the bodies.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { Actor } from './actor';
import { Arrows, LONGEST, typicalSize } from './arrows';
import { duration, type Replay, type Trajectory } from './data';
import { makeGround, type Ground, type GroundTheme } from './ground';
import { impactsIn, type Span } from './impacts';
import { motionOf, type Motion } from './motion';
import { geomColor, quaternion, ShapeStore } from './shapes';
import { legAt } from './way';

const FOV = 32;
const GHOST = '#7f8ea3';
export const FORCE_COLOR = '#e5484d';
export const IMPULSE_COLOR = '#f5a300';
export const PUSH_COLOR = '#8b5cf6';
/// What the camera follows: nothing, the motion as a whole, or the body of that index.
export const STAY = -1;
export const MOTION = 0;

export interface SceneTheme extends GroundTheme {
  dark: boolean;
}

// one side of the picture, or the ghost
interface Slot {
  actors: Map<number, Actor>;
  forces: Arrows;
  impulses: Arrows;
  pushes: Arrows;
}

/// A rectangle of the canvas in CSS pixels from its upper left corner.
export interface View {
  left: number;
  top: number;
  width: number;
  height: number;
}

export class Stage {
  readonly camera = new THREE.PerspectiveCamera(FOV, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  readonly up = new THREE.Vector3(0, 0, 1);
  readonly hasCollisionShapes: boolean;
  readonly cell: number;
  readonly tracked: number; // body whose path is drawn, -1: nothing moves
  longestForce = 0; // forces above it are drawn as if they were it [N]; 0 without forces
  longestImpulse = 0; // the same of impulses [N s]
  longestPush = 0; // the same of gradients in a push [loss / (N s)]
  follow: number;
  side = false; // two views side by side in place of a ghost
  showPaths = true;
  showForces = true;
  showPushes = false;
  private renderer: THREE.WebGLRenderer;
  private scene = new THREE.Scene();
  private sun = new THREE.DirectionalLight('#ffffff', 2.6);
  private sky = new THREE.HemisphereLight('#ffffff', '#a8a6a2', 2);
  private grounds: Ground[] = [];
  private stores: ShapeStore[];
  private slots: Slot[];
  private ghostMaterial = new THREE.MeshLambertMaterial({ transparent: true, opacity: 0.34 });
  private collision = false;
  private paths: THREE.Line[] = [];
  private motions: Motion[];
  private size: number; // radius of what is framed
  private width = 1;
  private height = 1;
  private center = new THREE.Vector3();
  private anchor = new THREE.Vector3(); // where the follower's target was last put
  private apart = new THREE.Vector3(); // from what is followed in the first view to what is in the second
  private pair: [number, number] = [0, -1];

  constructor(private replay: Replay, private canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.renderer.autoClear = false;
    const main = replay.trajectories.length - 1;
    const run = replay.runs[replay.trajectories[main].run];
    const g = new THREE.Vector3(...replay.models[run.model].gravity);
    if (g.length() > 0) this.up.copy(g).normalize().negate();
    this.hasCollisionShapes = replay.models.some((m) => m.geoms.some((e) => e.role === 'collision'));

    const moves = replay.trajectories[main].moves;
    this.tracked = run.track > 0 ? run.track : moves.indexOf(true);
    this.motions = this.measure();
    const last = this.motions[main];
    const span = last.box.getBoundingSphere(new THREE.Sphere()).radius;
    const several = moves.filter((m) => m).length > 1;
    this.follow = span > (several ? 3.5 : 25) * last.radius ? MOTION : STAY;
    this.size = this.follow !== STAY ? 1.25 * last.radius : span;
    this.cell = roundCell(this.size / 3);

    this.buildGrounds(main);
    this.stores = replay.models.map((m) => new ShapeStore(m));
    this.slots = [0, 1].map(() => {
      const slot = {
        actors: new Map<number, Actor>(), forces: new Arrows(FORCE_COLOR, 0.013 * this.size), impulses: new Arrows(IMPULSE_COLOR, 0.015 * this.size),
        pushes: new Arrows(PUSH_COLOR, 0.011 * this.size),
      };
      this.scene.add(slot.forces.group, slot.impulses.group, slot.pushes.group);
      return slot;
    });
    this.buildPaths();
    this.buildMarkers();
    this.light();
    this.loaded();

    this.camera.up.copy(this.up);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.maxPolarAngle = 0.62 * Math.PI;
    this.home();
  }

  dispose(): void {
    this.controls.dispose();
    this.renderer.dispose();
    this.renderer.forceContextLoss();
  }

  private model(i: number): number {
    return this.replay.runs[this.replay.trajectories[i].run].model;
  }

  private measure(): Motion[] {
    return this.replay.trajectories.map((t) => {
      const run = this.replay.runs[t.run];
      return motionOf(t, this.replay.models[run.model], run.markers);
    });
  }

  /// More frames are there: what is followed, paths and the scale of arrows are taken anew.
  loaded(): void {
    const all = this.replay.trajectories;
    this.motions = this.measure();
    this.scaleArrows(typicalSize(all.flatMap((t) => (t.contacts ? [t.contacts.force] : []))),
      typicalSize(all.flatMap((t) => (t.impacts ? [t.impacts.impulse] : []))), typicalSize(all.flatMap((t) => (t.push ? [t.push.value] : []))));
    all.forEach((t, i) => this.layPath(t, this.paths[i]));
  }

  /// Typical sizes of forces [N], impulses [N s] and gradients in a push, whose arrows have a fixed length.
  scaleArrows(force: number, impulse: number, push: number): void {
    const radius = this.motions[this.motions.length - 1].radius;
    const reach = Math.min(1.6 * radius, this.size);
    this.longestForce = LONGEST * force;
    this.longestImpulse = LONGEST * impulse;
    this.longestPush = LONGEST * push;
    for (const s of this.slots) {
      s.forces.measure(force, 0.55 * reach);
      s.impulses.measure(impulse, 0.9 * reach); // out of the body that they push
      s.pushes.measure(push, Math.min(2 * radius, 0.5 * this.size)); // it begins inside the body
    }
  }

  /// Drawn with what there is.
  add(...objects: THREE.Object3D[]): void {
    this.scene.add(...objects);
  }

  /// Thickness that suits a shaft in this view [m].
  get shaft(): number {
    return 0.012 * this.size;
  }

  // the line of sight through a place of the page, in the first view
  private sight(x: number, y: number): THREE.Raycaster {
    const r = this.canvas.getBoundingClientRect();
    const { left, top, width, height } = this.views()[0];
    const ray = new THREE.Raycaster();
    this.camera.updateMatrixWorld();
    ray.setFromCamera(new THREE.Vector2((2 * (x - r.left - left)) / width - 1, 1 - (2 * (y - r.top - top)) / height), this.camera);
    return ray;
  }

  /// The body seen at a place of the page, and the point there [m]; null: none.
  bodyAt(x: number, y: number): { body: number; point: THREE.Vector3 } | null {
    const roots = [...this.slots[0].actors.values()].map((a) => a.root);
    for (const root of roots) root.updateMatrixWorld(true);
    const hit = this.sight(x, y).intersectObjects(roots, true).find((h) => h.object.visible && h.object.userData.body !== undefined);
    return hit === undefined ? null : { body: hit.object.userData.body as number, point: hit.point };
  }

  /// The point seen at a place of the page in the plane through `through` that faces the camera; null: there is none.
  pointAt(x: number, y: number, through: THREE.Vector3): THREE.Vector3 | null {
    const away = this.camera.getWorldDirection(new THREE.Vector3());
    return this.sight(x, y).ray.intersectPlane(new THREE.Plane().setFromNormalAndCoplanarPoint(away, through), new THREE.Vector3());
  }

  private actor(slot: number, i: number): Actor {
    const model = this.model(i);
    let a = this.slots[slot].actors.get(model);
    if (a === undefined) {
      a = new Actor(this.replay.models[model], this.stores[model], this.ghostMaterial);
      this.slots[slot].actors.set(model, a);
      this.scene.add(a.root);
      this.dress();
    }
    return a;
  }

  // full colours or ghost, shapes for the eye or for contact
  private dress(): void {
    this.slots.forEach((s, k) => s.actors.forEach((a) => a.show(k === 1 && !this.side, this.collision)));
  }

  private buildGrounds(main: number): void {
    const t = this.replay.trajectories[main]; // planes stand still with their body's first pose
    for (const geom of this.replay.models[this.model(main)].geoms) {
      if (geom.type !== 'plane') continue;
      const body = new THREE.Matrix4().compose(
        new THREE.Vector3().fromArray(t.pos, 3 * geom.body), quaternion(t.quat, 4 * geom.body), new THREE.Vector3(1, 1, 1));
      const own = new THREE.Matrix4().compose(
        new THREE.Vector3(...geom.pos), quaternion(geom.quat), new THREE.Vector3(1, 1, 1));
      const ground = makeGround(body.multiply(own), 14 * this.size, this.cell, geomColor(geom));
      this.grounds.push(ground);
      this.scene.add(ground.mesh);
    }
  }

  // path of the tracked body, one line a trajectory
  private buildPaths(): void {
    for (const t of this.replay.trajectories) {
      const g = new THREE.BufferGeometry();
      g.setAttribute('position', new THREE.BufferAttribute(new Float32Array(3 * t.nframe), 3));
      const line = new THREE.Line(g, new THREE.LineBasicMaterial({ transparent: true, opacity: 0.9 }));
      line.frustumCulled = false;
      line.renderOrder = 4;
      this.paths.push(line);
      this.scene.add(line);
    }
  }

  private layPath(t: Trajectory, line: THREE.Line): void {
    const p = line.geometry.getAttribute('position') as THREE.BufferAttribute;
    const run = this.replay.runs[t.run];
    const b = Math.max(run.track > 0 ? run.track : t.moves.indexOf(true), 0);
    for (let i = 0; i < t.loaded; i++) {
      for (let k = 0; k < 3; k++) p.array[3 * i + k] = t.pos[3 * (i * t.nbody + b) + k];
    }
    p.needsUpdate = true;
    line.geometry.setDrawRange(0, t.loaded);
  }

  // a mark is a small ball in a larger clear one, seen through whatever is before it
  private buildMarkers(): void {
    for (const m of this.replay.runs.flatMap((r) => r.markers)) {
      const color = new THREE.Color().setRGB(m.rgba[0], m.rgba[1], m.rgba[2], THREE.SRGBColorSpace);
      const radius = m.radius > 0 ? m.radius : 0.05 * this.size;
      for (const [r, opacity] of [[0.3 * radius, m.rgba[3]], [radius, 0.3 * m.rgba[3]]]) {
        const material = new THREE.MeshBasicMaterial({
          color, transparent: true, opacity, depthWrite: false, depthTest: r === radius,
        });
        const ball = new THREE.Mesh(new THREE.SphereGeometry(r, 32, 20), material);
        ball.position.set(...m.pos);
        ball.renderOrder = 7;
        this.scene.add(ball);
      }
    }
  }

  private light(): void {
    const r = 1.9 * this.size;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.camera = new THREE.OrthographicCamera(-r, r, r, -r, 0.1 * this.size, 9 * this.size);
    this.sun.shadow.normalBias = 0.004 * this.size;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.radius = 7;
    this.sky.position.copy(this.up);
    this.scene.add(this.sun, this.sun.target, this.sky);
  }

  // where the followed thing is
  private followed(which: number, frame: number, part: number, out: THREE.Vector3): THREE.Vector3 {
    const t = this.replay.trajectories[which];
    const i = Math.min(frame, t.loaded - 1);
    const next = Math.min(i + 1, t.loaded - 1);
    const body = this.follow > 0 && this.follow < t.nbody ? this.follow : -1;
    const mix = (a: number, b: number, share: number) => a + share * (b - a);
    if (body < 0) {
      const track = this.motions[which].track;
      for (let k = 0; k < 3; k++) out.setComponent(k, mix(track[3 * i + k], track[3 * next + k], part));
      return out;
    }
    const leg = legAt(t, i, part);
    const at = (k: number) => mix(leg.from.pos[3 * (leg.from.at * t.nbody + body) + k], leg.to.pos[3 * (leg.to.at * t.nbody + body) + k], leg.part);
    return out.set(at(0), at(1), at(2));
  }

  /// The default view.
  home(at = 0, which = this.motions.length - 1): void {
    const m = this.motions[which];
    if (this.follow !== STAY) this.followed(which, at, 0, this.center);
    else m.box.getCenter(this.center);
    this.anchor.copy(this.center);
    const right = across(this.up);
    const flat = m.travel.clone().addScaledVector(this.up, -m.travel.dot(this.up));
    if (flat.length() > 0.5 * m.radius && Math.abs(flat.dot(right)) < 0.5 * flat.length()) right.copy(flat);
    right.addScaledVector(this.up, -right.dot(this.up)).normalize();
    // looking along up x right, from 22 degrees to the side and 14 above
    const back = right.clone().cross(this.up).applyAxisAngle(this.up, (22 * Math.PI) / 180);
    const side = this.up.clone().cross(back).normalize();
    back.applyAxisAngle(side, (-14 * Math.PI) / 180);
    const distance = this.fit(back, this.follow !== STAY ? null : m.box);
    this.controls.target.copy(this.center);
    this.camera.position.copy(this.center).addScaledVector(back, distance);
    this.camera.near = 0.01 * distance;
    this.camera.far = 40 * distance;
    this.camera.updateProjectionMatrix();
    this.controls.minDistance = 0.05 * distance;
    this.controls.maxDistance = 15 * distance;
    this.controls.update();
  }

  // least distance from the centre, along back, from which the box (null: the framed ball) fills most of the view
  private fit(back: THREE.Vector3, box: THREE.Box3 | null): number {
    const tall = Math.tan((FOV * Math.PI) / 360) * 0.8;
    const wide = tall * this.camera.aspect;
    if (box === null) return this.size / Math.min(tall, wide);
    const right = this.up.clone().cross(back).normalize();
    const above = back.clone().cross(right);
    const p = new THREE.Vector3();
    let distance = 0;
    for (let k = 0; k < 8; k++) {
      p.set(box[k & 1 ? 'max' : 'min'].x, box[k & 2 ? 'max' : 'min'].y, box[k & 4 ? 'max' : 'min'].z).sub(this.center);
      const off = Math.max(Math.abs(p.dot(right)) / wide, Math.abs(p.dot(above)) / tall);
      distance = Math.max(distance, off + p.dot(back));
    }
    return distance;
  }

  /// Starts to follow; the view stays as it is.
  setFollow(what: number, at: number, which: number): void {
    this.follow = what;
    if (what !== STAY) this.followed(which, at, 0, this.anchor);
  }

  /// Camera and target as six numbers.
  eye(): number[] {
    return [...this.camera.position.toArray(), ...this.controls.target.toArray()];
  }

  /// The view of a link, for a frame that follow() already went to.
  setEye(e: number[]): void {
    this.camera.position.fromArray(e, 0);
    this.controls.target.fromArray(e, 3);
    const d = this.camera.position.distanceTo(this.controls.target);
    this.controls.minDistance = Math.min(this.controls.minDistance, 0.5 * d);
    this.controls.maxDistance = Math.max(this.controls.maxDistance, 2 * d);
    this.controls.update();
  }

  paint(theme: SceneTheme): void {
    for (const g of this.grounds) g.paint(theme);
    this.ghostMaterial.color.set(theme.dark ? '#b4c2d6' : GHOST);
    this.sky.intensity = theme.dark ? 1.7 : 2.1;
    this.sun.intensity = theme.dark ? 1.9 : 2.0;
  }

  /// Bodies of trajectory `main` at frame i (and a share 0..1 of the time to the next), and those of `other` (-1: none) at the same time;
  /// impulses of that span of time, which is an instant when it is that of an impact: forces, which are means over steps, are not shown then.
  pose(main: number, other: number, frame: number, part: number, time: number, span: Span, instant: boolean): void {
    this.pair = [main, other];
    const t = this.replay.trajectories[main];
    this.place(0, main, Math.min(frame, t.loaded - 1), frame < t.loaded ? part : 0, span, instant);
    if (other >= 0) {
      const o = this.replay.trajectories[other];
      const s = Math.min(time, duration(o)) / o.dt + 1e-6;
      const i = Math.min(Math.floor(s), o.loaded - 1);
      this.place(1, other, i, Math.min(s - i, 1) * (i < o.loaded - 1 ? 1 : 0), span, instant);
    }
    this.apart.setScalar(0);
    if (this.follow !== STAY) {
      const shift = this.followed(main, frame, part, new THREE.Vector3()).sub(this.anchor);
      this.anchor.add(shift);
      this.camera.position.add(shift);
      this.controls.target.add(shift);
      if (other >= 0) {
        const o = this.replay.trajectories[other];
        const s = Math.min(time, duration(o)) / o.dt + 1e-6;
        this.followed(other, Math.floor(s), s - Math.floor(s), this.apart).sub(this.anchor);
      }
    }
  }

  private place(slot: number, i: number, frame: number, part: number, span: Span, instant: boolean): void {
    const t = this.replay.trajectories[i];
    this.actor(slot, i).pose(legAt(t, frame, part));
    const near = part > 0.5 ? Math.min(frame + 1, t.loaded - 1) : frame;
    const c = instant ? null : t.contacts;
    const s = this.slots[slot];
    s.forces.show(c && c.pos, c && c.force, c ? c.offset[near] : 0, c ? c.offset[near + 1] : 0);
    const m = t.impacts;
    s.impulses.show(m && m.pos, m && m.shown, ...impactsIn(t, span));
    // downhill: against the gradient
    if (this.showPushes) s.pushes.show(t.push && t.push.at, t.push && t.push.value, near * t.nbody, (near + 1) * t.nbody, -1);
  }

  /// true: the shapes that collide; false: the shapes meant for the eye.
  set collisionShapes(on: boolean) {
    this.collision = on;
    this.dress();
  }

  setSide(on: boolean): void {
    this.side = on;
    this.dress();
    this.shape();
  }

  resize(width: number, height: number): void {
    this.width = Math.max(width, 1);
    this.height = Math.max(height, 1);
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.shape();
  }

  private shape(): void {
    const v = this.views()[0];
    this.camera.aspect = v.width / v.height;
    this.camera.updateProjectionMatrix();
  }

  /// The picture's parts: one, or two beside or above each other.
  views(): View[] {
    const { width, height } = this;
    if (!this.side || this.pair[1] < 0) return [{ left: 0, top: 0, width, height }];
    const [a, b] = [Math.floor(width / 2), Math.floor(height / 2)];
    return width >= height
      ? [{ left: 0, top: 0, width: a, height }, { left: width - a, top: 0, width: a, height }]
      : [{ left: 0, top: 0, width, height: b }, { left: 0, top: height - b, width, height: b }];
  }

  render(): void {
    const views = this.views();
    this.shape();
    this.renderer.setScissorTest(false);
    this.renderer.clear();
    this.renderer.setScissorTest(views.length > 1);
    views.forEach((v, k) => {
      this.pick(views.length > 1 ? [k] : [0, 1]);
      if (k === 1) this.camera.position.add(this.apart);
      this.shine(k === 1 ? this.controls.target.clone().add(this.apart) : this.controls.target);
      this.renderer.setViewport(v.left, this.height - v.top - v.height, v.width, v.height);
      this.renderer.setScissor(v.left, this.height - v.top - v.height, v.width, v.height);
      this.renderer.render(this.scene, this.camera);
      if (k === 1) this.camera.position.sub(this.apart);
    });
  }

  // ground and shadows where one looks
  private shine(focus: THREE.Vector3): void {
    for (const g of this.grounds) g.follow(focus);
    const side = across(this.up).multiplyScalar(-0.45);
    side.addScaledVector(across(this.up).cross(this.up), 0.55).addScaledVector(this.up, 1.15).normalize();
    this.sun.position.copy(focus).addScaledVector(side, 4.5 * this.size);
    this.sun.target.position.copy(focus);
  }

  // what of the two trajectories one view shows
  private pick(shown: number[]): void {
    const alone = shown.length === 1;
    this.slots.forEach((s, k) => {
      const i = this.pair[k];
      const on = shown.includes(k) && i >= 0;
      s.actors.forEach((a, model) => (a.root.visible = on && model === this.model(i)));
      s.forces.group.visible = on && this.showForces && (alone || k === 0);
      s.impulses.group.visible = on && this.showForces && (alone || k === 0);
      s.pushes.group.visible = on && this.showPushes && (alone || k === 0);
    });
    this.paths.forEach((line, i) => {
      line.visible = this.showPaths && shown.some((k) => this.pair[k] === i);
      (line.material as THREE.LineBasicMaterial).color.set(i === this.pair[0] ? '#2f7fd6' : GHOST);
    });
  }

  /// Page position in CSS pixels of a world point, in the first view.
  project(p: THREE.Vector3): [number, number] {
    this.camera.updateMatrixWorld();
    const v = p.clone().project(this.camera);
    const r = this.canvas.getBoundingClientRect();
    const { left, top, width, height } = this.views()[0];
    return [r.left + left + ((v.x + 1) / 2) * width, r.top + top + ((1 - v.y) / 2) * height];
  }
}

// +x made level, +y where x is up
function across(up: THREE.Vector3): THREE.Vector3 {
  const x = Math.abs(up.x) > 0.9 ? new THREE.Vector3(0, 1, 0) : new THREE.Vector3(1, 0, 0);
  return x.addScaledVector(up, -x.dot(up)).normalize();
}

// the nearest of 1, 2, 5 times a power of ten, not above x
function roundCell(x: number): number {
  const p = Math.pow(10, Math.floor(Math.log10(x)));
  return [5, 2, 1].map((k) => k * p).find((c) => c <= x * 1.0001) ?? p;
}
