// pull.ts: a body taken hold of with the mouse: where it is held and where it is drawn to, as the server says them, and what the mouse asks for.
import * as THREE from 'three';
import { Arrows } from './arrows';
import type { Stage } from './scene';

/// Of a picture: the point that is held, where it is drawn to [m], and the force there [N]; world.
export interface PullState {
  body: number;
  at: [number, number, number];
  to: [number, number, number];
  force: [number, number, number];
}

export class Pull {
  static readonly COLOR = '#12a594';
  private line: THREE.Line;
  private ball: THREE.Mesh;
  private arrow: Arrows;
  private points = new Float32Array(6);
  private through: THREE.Vector3 | null = null; // the plane that the mouse moves in; null: nothing is held
  private next: THREE.Vector3 | null = null; // where the mouse is, not yet asked for
  private busy = false;

  constructor(private stage: Stage, view: HTMLElement, private moves: (body: number) => boolean,
              private inBody: (body: number, point: THREE.Vector3) => THREE.Vector3, private strength: () => number, private command: (what: object) => Promise<boolean>) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(this.points, 3));
    this.line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: Pull.COLOR, depthTest: false, transparent: true }));
    this.ball = new THREE.Mesh(new THREE.SphereGeometry(1.6 * stage.shaft, 16, 12), new THREE.MeshBasicMaterial({ color: Pull.COLOR, depthTest: false, transparent: true }));
    this.arrow = new Arrows(Pull.COLOR, stage.shaft);
    for (const o of [this.line, this.ball]) {
      o.frustumCulled = false;
      o.renderOrder = 8;
    }
    stage.add(this.line, this.ball, this.arrow.group);
    this.show(null);
    // before the camera's controls hear of it
    view.addEventListener('pointerdown', (e) => this.take(e), { capture: true });
    window.addEventListener('pointermove', (e) => this.move(e));
    for (const end of ['pointerup', 'pointercancel', 'blur']) window.addEventListener(end, () => this.letGo());
  }

  private take(e: PointerEvent): void {
    if (e.button !== 0 || e.shiftKey || e.ctrlKey || e.metaKey || e.altKey || !(e.target instanceof HTMLCanvasElement)) return;
    const hit = this.stage.bodyAt(e.clientX, e.clientY);
    if (hit === null || !this.moves(hit.body)) return;
    e.stopImmediatePropagation();
    e.preventDefault();
    this.through = hit.point.clone();
    void this.command({ pull: { body: hit.body, point: this.inBody(hit.body, hit.point).toArray(), to: hit.point.toArray(), strength: this.strength() } });
  }

  private move(e: PointerEvent): void {
    if (this.through === null) return;
    this.next = this.stage.pointAt(e.clientX, e.clientY, this.through);
    void this.send();
  }

  // one command on its way at a time, and the newest place
  private async send(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    while (this.next !== null && this.through !== null) {
      const to = this.next;
      this.next = null;
      await this.command({ pull: { to: to.toArray() } });
    }
    this.busy = false;
  }

  private letGo(): void {
    if (this.through === null) return;
    this.through = this.next = null;
    void this.command({ pull: null });
  }

  /// Draws what the picture says: the spring, and the force as an arrow from where it acts, as long as the spring at most.
  show(p: PullState | null): void {
    this.line.visible = this.ball.visible = this.arrow.group.visible = p !== null;
    if (p === null) return;
    this.points.set([...p.at, ...p.to]);
    (this.line.geometry.getAttribute('position') as THREE.BufferAttribute).needsUpdate = true;
    this.ball.position.fromArray(p.to);
    const size = Math.hypot(...p.force), length = Math.hypot(p.to[0] - p.at[0], p.to[1] - p.at[1], p.to[2] - p.at[2]);
    this.arrow.measure(size, Math.max(length, 4 * this.stage.shaft));
    this.arrow.show(new Float32Array(p.at), new Float32Array(p.force), 0, size > 0 ? 1 : 0);
  }
}
