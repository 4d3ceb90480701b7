// scene.ts: the world in 3D: bodies, ghost, path, forces, light, and a camera that may follow.
//
// The camera's up is against gravity. Its default view has the main horizontal travel from left to right, or +x to the
// right when nothing travels, and holds the whole motion, or follows it when the motion is much larger than the bodies.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { Arrows, LONGEST, typicalForce } from './arrows';
import { duration, type Replay, type Trajectory } from './data';
import { makeGround, type Ground, type GroundTheme } from './ground';
import { geomColor, geomRadius, quaternion, ShapeStore } from './shapes';

const FOV = 32;
const GHOST = '#7f8ea3';

export interface SceneTheme extends GroundTheme {
  dark: boolean;
}

interface Actor {
  bodies: THREE.Group[];
  root: THREE.Group;
}

// centre and radius of what moves, at some frames of a trajectory
interface Motion {
  box: THREE.Box3; // all that moves over all the time
  track: Float32Array; // centre of what moves, per frame, smoothed
  radius: number; // of what moves, at one time
  travel: THREE.Vector3; // from first to last
}

export class Stage {
  readonly camera = new THREE.PerspectiveCamera(FOV, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  readonly up = new THREE.Vector3(0, 0, 1);
  readonly hasCollisionShapes: boolean;
  readonly cell: number;
  readonly longestForce: number; // forces above it are drawn as if they were it [N]; 0 without forces
  readonly tracked: number; // body whose path is drawn, -1: nothing moves
  follow: boolean;
  private renderer: THREE.WebGLRenderer;
  private scene = new THREE.Scene();
  private sun = new THREE.DirectionalLight('#ffffff', 2.6);
  private sky = new THREE.HemisphereLight('#ffffff', '#a8a6a2', 2);
  private grounds: Ground[] = [];
  private actor: Actor;
  private ghost: Actor;
  private ghostMaterial = new THREE.MeshLambertMaterial({ transparent: true, opacity: 0.34 });
  private arrows: Arrows;
  private paths: THREE.Line[] = [];
  private motions: Motion[];
  private size: number; // radius of what is framed
  private center = new THREE.Vector3();
  private anchor = new THREE.Vector3(); // where the follower's target was last put

  constructor(private replay: Replay, private canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    const g = new THREE.Vector3(...replay.gravity);
    if (g.length() > 0) this.up.copy(g).normalize().negate();
    this.hasCollisionShapes = replay.geoms.some((e) => e.role === 'collision');

    const moving = movingBodies(replay);
    this.tracked = replay.track > 0 ? replay.track : moving.findIndex((m) => m);
    this.motions = replay.trajectories.map((t) => this.motion(t, moving));
    const last = this.motions[this.motions.length - 1];
    const span = last.box.getBoundingSphere(new THREE.Sphere()).radius;
    const several = moving.filter((m) => m).length > 1;
    this.follow = span > (several ? 3.5 : 25) * last.radius;
    this.size = this.follow ? 1.25 * last.radius : span;
    this.cell = roundCell(this.size / 3);

    this.buildGrounds();
    const store = new ShapeStore(replay);
    this.ghost = this.build(store, true);
    this.actor = this.build(store, false);
    const typical = typicalForce(replay.trajectories);
    const scale = typical > 0 ? (0.55 * Math.min(last.radius * 1.6, this.size)) / typical : 0;
    this.longestForce = LONGEST * typical;
    this.arrows = new Arrows(scale, LONGEST * scale * typical, 0.013 * this.size, replay.trajectories);
    this.scene.add(this.arrows.group);
    this.buildPaths();
    this.buildMarkers();
    this.light();

    this.camera.up.copy(this.up);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.maxPolarAngle = 0.62 * Math.PI;
    this.home();
  }

  // what moves in one trajectory
  private motion(t: Trajectory, moving: boolean[]): Motion {
    const geoms = this.replay.geoms.filter((g) => g.type !== 'plane');
    const some = geoms.filter((g) => moving[g.body]);
    const used = (some.length > 0 ? some : geoms).map((geom) => ({
      geom, radius: geomRadius(geom, this.replay.meshes), local: new THREE.Vector3(...geom.pos),
    }));
    const nbody = this.replay.bodies.length;
    const box = new THREE.Box3();
    const now = new THREE.Box3();
    const point = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const track = new Float32Array(3 * t.nframe);
    const stride = Math.max(1, Math.floor(t.nframe / 400));
    let radius = 0;
    for (let i = 0; i < t.nframe; i += stride) {
      now.makeEmpty();
      for (const u of used) {
        const b = i * nbody + u.geom.body;
        turn.set(t.quat[4 * b + 1], t.quat[4 * b + 2], t.quat[4 * b + 3], t.quat[4 * b]);
        point.copy(u.local).applyQuaternion(turn);
        point.x += t.pos[3 * b];
        point.y += t.pos[3 * b + 1];
        point.z += t.pos[3 * b + 2];
        const r = new THREE.Vector3(u.radius, u.radius, u.radius);
        now.expandByPoint(point.clone().add(r)).expandByPoint(point.sub(r));
      }
      if (now.isEmpty()) now.set(new THREE.Vector3(-0.5, -0.5, -0.5), new THREE.Vector3(0.5, 0.5, 0.5));
      box.union(now);
      radius = Math.max(radius, now.getSize(point).length() / 2);
      now.getCenter(point);
      if (i === 0) for (const m of this.replay.markers) box.expandByPoint(new THREE.Vector3(...m.pos));
      for (let k = i; k < Math.min(i + stride, t.nframe); k++) point.toArray(track, 3 * k);
    }
    const smooth = smoothTrack(track, Math.round(0.35 / t.dt));
    const n = 3 * (t.nframe - 1);
    const travel = new THREE.Vector3(track[n] - track[0], track[n + 1] - track[1], track[n + 2] - track[2]);
    return { box, track: smooth, radius, travel };
  }

  private buildGrounds(): void {
    for (const geom of this.replay.geoms) {
      if (geom.type !== 'plane') continue;
      const t = this.replay.trajectories[0]; // planes stand still with their body's first pose
      const body = new THREE.Matrix4().compose(
        new THREE.Vector3().fromArray(t.pos, 3 * geom.body), quaternion(t.quat, 4 * geom.body), new THREE.Vector3(1, 1, 1));
      const own = new THREE.Matrix4().compose(
        new THREE.Vector3(...geom.pos), quaternion(geom.quat), new THREE.Vector3(1, 1, 1));
      const ground = makeGround(body.multiply(own), 14 * this.size, this.cell, geomColor(geom));
      this.grounds.push(ground);
      this.scene.add(ground.mesh);
    }
  }

  private build(store: ShapeStore, ghost: boolean): Actor {
    const root = new THREE.Group();
    const bodies = this.replay.bodies.map(() => {
      const b = new THREE.Group();
      root.add(b);
      return b;
    });
    for (const geom of this.replay.geoms) {
      if (geom.type === 'plane' || (ghost && geom.body === 0)) continue;
      const geometry = store.geometry(geom);
      const alpha = geom.rgba[3];
      const material = ghost
        ? this.ghostMaterial
        : new THREE.MeshStandardMaterial({
            color: geomColor(geom), roughness: 0.55, metalness: 0.02, transparent: alpha < 1, opacity: alpha,
            vertexColors: geometry.hasAttribute('color'),
          });
      const mesh = new THREE.Mesh(geometry, material);
      mesh.position.set(...geom.pos);
      mesh.quaternion.copy(quaternion(geom.quat));
      mesh.castShadow = !ghost && alpha > 0.6;
      mesh.receiveShadow = !ghost;
      mesh.userData.role = geom.role;
      mesh.visible = geom.role !== 'collision';
      if (ghost) mesh.renderOrder = 2;
      bodies[geom.body].add(mesh);
    }
    this.scene.add(root);
    return { bodies, root };
  }

  // path of the first moving body, one line a trajectory
  private buildPaths(): void {
    const nbody = this.replay.bodies.length;
    this.replay.trajectories.forEach((t) => {
      const p = new Float32Array(3 * t.nframe);
      const b = Math.max(this.tracked, 0);
      for (let i = 0; i < t.nframe; i++) {
        for (let k = 0; k < 3; k++) p[3 * i + k] = t.pos[3 * (i * nbody + b) + k];
      }
      const g = new THREE.BufferGeometry();
      g.setAttribute('position', new THREE.BufferAttribute(p, 3));
      const line = new THREE.Line(g, new THREE.LineBasicMaterial({ transparent: true, opacity: 0.9 }));
      line.frustumCulled = false;
      line.renderOrder = 4;
      this.paths.push(line);
      this.scene.add(line);
    });
  }

  // a mark is a small ball in a larger clear one, seen through whatever is before it
  private buildMarkers(): void {
    for (const m of this.replay.markers) {
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

  /// The default view.
  home(at = 0, which = this.motions.length - 1): void {
    const m = this.motions[which];
    if (this.follow) this.center.fromArray(m.track, 3 * Math.min(at, m.track.length / 3 - 1));
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
    const distance = this.fit(back, this.follow ? null : m.box);
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

  paint(theme: SceneTheme): void {
    for (const g of this.grounds) g.paint(theme);
    this.ghostMaterial.color.set(theme.dark ? '#b4c2d6' : GHOST);
    this.sky.intensity = theme.dark ? 1.7 : 2.1;
    this.sun.intensity = theme.dark ? 1.9 : 2.0;
  }

  /// Bodies of trajectory `main` at frame i (and a share 0..1 of the way to the next), ghost of `other` (-1: none).
  pose(main: number, other: number, frame: number, part: number, time: number): void {
    const t = this.replay.trajectories[main];
    place(this.actor, t, frame, part);
    this.ghost.root.visible = other >= 0 && other !== main;
    if (this.ghost.root.visible) {
      const o = this.replay.trajectories[other];
      const s = Math.min(time, duration(o)) / o.dt + 1e-6;
      place(this.ghost, o, Math.floor(s), s - Math.floor(s));
    }
    this.arrows.show(t.contacts, part > 0.5 ? Math.min(frame + 1, t.nframe - 1) : frame);
    this.paths.forEach((line, i) => {
      line.visible = this.showPaths && (i === main || (i === other && this.ghost.root.visible));
      (line.material as THREE.LineBasicMaterial).color.set(i === main ? '#2f7fd6' : GHOST);
    });
    if (this.follow) {
      const m = this.motions[main].track;
      const now = new THREE.Vector3().fromArray(m, 3 * frame);
      const next = new THREE.Vector3().fromArray(m, 3 * Math.min(frame + 1, t.nframe - 1));
      const shift = now.lerp(next, part).sub(this.anchor);
      this.anchor.add(shift);
      this.camera.position.add(shift);
      this.controls.target.add(shift);
    }
  }
  showPaths = true;

  set forces(on: boolean) {
    this.arrows.group.visible = on;
  }

  /// true: the shapes that collide; false: the shapes meant for the eye.
  set collisionShapes(on: boolean) {
    for (const a of [this.actor, this.ghost]) {
      a.root.traverse((o) => {
        if (o.userData.role !== undefined) o.visible = o.userData.role !== (on ? 'visual' : 'collision');
      });
    }
  }

  resize(width: number, height: number): void {
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
  }

  render(): void {
    const focus = this.controls.target;
    for (const g of this.grounds) g.follow(focus);
    const side = across(this.up).multiplyScalar(-0.45);
    side.addScaledVector(across(this.up).cross(this.up), 0.55).addScaledVector(this.up, 1.15).normalize();
    this.sun.position.copy(focus).addScaledVector(side, 4.5 * this.size);
    this.sun.target.position.copy(focus);
    this.renderer.render(this.scene, this.camera);
  }

  /// Page position in CSS pixels of a world point.
  project(p: THREE.Vector3): [number, number] {
    this.camera.updateMatrixWorld();
    const v = p.clone().project(this.camera);
    const r = this.canvas.getBoundingClientRect();
    return [r.left + ((v.x + 1) / 2) * r.width, r.top + ((1 - v.y) / 2) * r.height];
  }
}

// +x made level, +y where x is up
function across(up: THREE.Vector3): THREE.Vector3 {
  const x = Math.abs(up.x) > 0.9 ? new THREE.Vector3(0, 1, 0) : new THREE.Vector3(1, 0, 0);
  return x.addScaledVector(up, -x.dot(up)).normalize();
}

function place(actor: Actor, t: Trajectory, frame: number, part: number): void {
  const nbody = actor.bodies.length;
  const next = Math.min(frame + 1, t.nframe - 1);
  const p = new THREE.Vector3();
  for (let b = 0; b < nbody; b++) {
    const body = actor.bodies[b];
    const i = frame * nbody + b;
    body.position.fromArray(t.pos, 3 * i);
    body.quaternion.copy(quaternion(t.quat, 4 * i));
    if (part > 1e-5) {
      const k = next * nbody + b;
      body.position.lerp(p.fromArray(t.pos, 3 * k), part);
      body.quaternion.slerp(quaternion(t.quat, 4 * k), part);
    }
  }
}

// bodies whose pose changes in any trajectory
function movingBodies(replay: Replay): boolean[] {
  const n = replay.bodies.length;
  const moving = new Array<boolean>(n).fill(false);
  for (const t of replay.trajectories) {
    for (let b = 0; b < n; b++) {
      for (let i = 1; i < t.nframe && !moving[b]; i++) {
        for (let k = 0; k < 3; k++) if (Math.abs(t.pos[3 * (i * n + b) + k] - t.pos[3 * b + k]) > 1e-6) moving[b] = true;
        for (let k = 0; k < 4; k++) if (Math.abs(t.quat[4 * (i * n + b) + k] - t.quat[4 * b + k]) > 1e-6) moving[b] = true;
      }
    }
  }
  return moving;
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

// the nearest of 1, 2, 5 times a power of ten, not above x
function roundCell(x: number): number {
  const p = Math.pow(10, Math.floor(Math.log10(x)));
  return [5, 2, 1].map((k) => k * p).find((c) => c <= x * 1.0001) ?? p;
}
