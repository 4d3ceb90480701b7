// live.ts: the page of a simulation that runs (sim.view, tangere view): shows the pictures that its server sends, and sends it commands.
//
// The replay in the page has the model; its one trajectory holds the newest picture in its first frame. Nothing is computed here.
import * as THREE from 'three';
import { LONGEST } from './arrows';
import { short } from './charts';
import type { Contacts, Push, Replay, Trajectory } from './data';
import { el, get, icon, options } from './dom';
import { answer } from './keys';
import { LivePanel, type Settings } from './livepanel';
import { Pull, type PullState } from './pull';
import { FORCE_COLOR, PUSH_COLOR, Stage, STAY } from './scene';
import { DARK, LIGHT, startsDark } from './theme';

/// What is found of the goal: its value and label, arrows of every body and where they begin, and the gradient in the controls.
export interface Found {
  error?: string;
  value: number;
  label: string;
  reason: string;
  arrows: string;
  at: string;
  controls: number[];
  seconds: number;
}

/// One picture, as the server sends it.
interface Picture {
  n: number;
  viewers: number;
  t: number;
  running: boolean;
  rate: number;
  speed: number;
  settings: number;
  pos: string;
  quat: string;
  contacts: string;
  ctrl: number[];
  failed: string;
  told: string;
  info: { contacts?: number; iterations?: number };
  pull: PullState | null;
  goal: Found | null;
}

const SPEEDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];
const PLAY = 'M4 2.5v11l9.5-5.5z';
const PAUSE = 'M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z';
const STEP = 'M11 2.5h2v11h-2zM3 2.5v11L10.5 8z';
const RESET = 'M8 2.5a5.5 5.5 0 1 0 5.5 5.5h-2A3.5 3.5 0 1 1 8 4.500V7l4-3.500L8 0z';

function floats(text: string): Float32Array {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return new Float32Array(out.buffer);
}

export class LivePage {
  private stage: Stage;
  private panel: LivePanel;
  private pull: Pull;
  private trajectory: Trajectory;
  private contacts: Contacts;
  private push: Push;
  private picture: Picture | null = null;
  private shown = -1; // number of the picture that is drawn
  private dirty = true;
  private dark = startsDark();
  private ended = false;
  private refused = ''; // why
  private refusedCommand = ''; // what
  private longest = 0; // of the gradient's arrows, falls slowly
  private version = -1;
  private asking = false;
  private panelAt = 0; // when its numbers were last renewed [ms]
  private spent: number[] = [];
  private count = 0; // pictures that came
  private drawings = 0;
  private play = el('button', { type: 'button', class: 'play', id: 'play' });
  private clock = el('div', { id: 'time' });
  private speed = el('select', { id: 'speed', 'aria-label': 'Speed', title: 'Seconds of the simulation in a second' });
  private note = el('div', { id: 'told', class: 'note', role: 'status', hidden: true });
  private sphere = new THREE.Vector3();

  /// Asks the server for what there is to set, lays the page out, and listens.
  static async open(replay: Replay): Promise<LivePage> {
    const settings = (await (await fetch('settings', { cache: 'no-store' })).json()) as Settings;
    return new LivePage(replay, settings);
  }

  private constructor(replay: Replay, private settings: Settings) {
    document.title = `${replay.title} – live`;
    const t = (this.trajectory = replay.trajectories[0]);
    this.contacts = t.contacts = { offset: new Uint32Array(t.nframe + 1), pos: new Float32Array(0), force: new Float32Array(0) };
    this.push = t.push = { at: new Float32Array(3 * t.nframe * t.nbody), value: new Float32Array(3 * t.nframe * t.nbody) };
    t.moves = settings.moves;
    this.stage = new Stage(replay, get<HTMLCanvasElement>('canvas'));
    this.stage.showPaths = false;
    for (const id of ['panel', 'strip', 'bar']) get(id).replaceChildren();
    get('strip').hidden = true;
    this.panel = new LivePanel(get('panel'), replay, settings, this.stage, this.dark, {
      command: (what) => this.command(what),
      redraw: () => { this.legend(); this.dirty = true; },
      theme: (dark) => this.theme(dark),
      follow: (body) => { this.stage.setFollow(body, 0, 0); this.dirty = true; },
    });
    this.pull = new Pull(this.stage, get('view'), (body) => settings.moves[body], (body, point) => this.inBody(body, point),
      () => this.panel.strength, (what) => this.command(what));
    get('view').append(this.note);
    this.layBar();
    this.theme(this.dark);
    this.listen();
    this.resize();
    this.stage.scaleArrows(settings.weight, 0, 0);
    this.stage.home(0, 0);
    this.connect();
    requestAnimationFrame(() => this.tick());
  }

  private layBar(): void {
    const button = (path: string, title: string, id: string, act: () => void) => {
      const b = el('button', { type: 'button', title, 'aria-label': title, id }, icon(path));
      b.addEventListener('click', act);
      return b;
    };
    options(this.speed, SPEEDS.map((s) => `${s}×`), SPEEDS, 1);
    this.speed.addEventListener('change', () => void this.command({ speed: Number(this.speed.value) }));
    this.play.addEventListener('click', () => this.toggle());
    const start = el('select', { id: 'start', 'aria-label': 'Reset to', title: 'What reset goes to' }, new Option('start', ''));
    for (const key of this.settings.keys) start.append(new Option(key, key));
    start.hidden = this.settings.keys.length === 0;
    get('bar').append(button(RESET, 'Reset (Backspace)', 'reset', () => void this.command({ reset: start.value || null })), start, this.play,
      button(STEP, 'One step (→)', 'step', () => void this.command({ step: 1 })), el('div', { id: 'track' }), this.clock, this.speed);
  }

  private listen(): void {
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(get('view'));
    this.stage.controls.addEventListener('change', () => (this.dirty = true));
    document.addEventListener('keydown', (e) => {
      if (e.target instanceof HTMLInputElement) return;
      answer(e, {
        ' ': () => this.toggle(), ArrowRight: (shift) => void this.command({ step: shift ? 10 : 1 }), Backspace: () => get('reset').click(),
        r: () => { this.stage.home(0, 0); this.dirty = true; }, f: () => this.panel.followNext(), c: () => this.panel.press('c'),
        g: () => this.panel.press('g'), d: () => this.panel.press('d'), x: () => this.panel.press('x'),
      });
    });
  }

  private connect(): void {
    const source = new EventSource('pictures');
    source.onmessage = (e) => {
      const before = performance.now();
      this.picture = JSON.parse(e.data as string) as Picture;
      this.count++;
      this.ended = false;
      this.dirty = true;
      this.spare(performance.now() - before);
    };
    source.addEventListener('end', () => {
      source.close();
      this.ended = true;
      this.dirty = true;
    });
    source.onerror = () => { this.ended = true; this.dirty = true; };
  }

  // script of pictures that came since the last one drawn counts for the next
  private owed = 0;
  private spare(ms: number): void {
    this.owed += ms;
  }

  private toggle(): void {
    void this.command({ run: !(this.picture?.running ?? false) });
  }

  /// Asks the server; what it refuses is said. True: done.
  private async command(what: object): Promise<boolean> {
    const keys = Object.keys(what);
    let why: string;
    try {
      const reply = await fetch('do', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(what) });
      why = ((await reply.json()) as { refused?: string }).refused ?? '';
    } catch {
      why = 'no longer live: the program that served this page has ended';
    }
    // what was refused stays said until the same is granted, or all begins anew
    if (why !== '' || keys.includes('reset') || keys.includes(this.refusedCommand)) {
      this.refused = why;
      this.refusedCommand = why === '' ? '' : keys[0];
      this.dirty = true;
    }
    return why === '';
  }

  private async learn(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    try {
      this.settings = (await (await fetch('settings', { cache: 'no-store' })).json()) as Settings;
      this.version = this.settings.settings;
      this.panel.show(this.settings);
      this.longest = 0;
      this.shown = -1; // drawn again by what is known now
      this.dirty = true;
    } catch {
      this.ended = true;
    } finally {
      this.asking = false;
    }
  }

  private resize(): void {
    const v = get('view');
    this.stage.resize(v.clientWidth, v.clientHeight);
    this.dirty = true;
  }

  private theme(dark: boolean): void {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    this.stage.paint(dark ? DARK : LIGHT);
    this.dirty = true;
  }

  // a point of the world in the frame of a body as it is now drawn
  private inBody(body: number, point: THREE.Vector3): THREE.Vector3 {
    const { pos, quat } = this.trajectory;
    const q = new THREE.Quaternion(quat[4 * body + 1], quat[4 * body + 2], quat[4 * body + 3], quat[4 * body]).normalize();
    return point.clone().sub(this.sphere.fromArray(pos, 3 * body)).applyQuaternion(q.invert());
  }

  // ---- pictures ----

  private take(p: Picture): void {
    const t = this.trajectory;
    t.pos.set(floats(p.pos));
    t.quat.set(floats(p.quat));
    const c = floats(p.contacts), n = c.length / 6;
    if (this.contacts.pos.length < 3 * n) {
      this.contacts.pos = new Float32Array(6 * n);
      this.contacts.force = new Float32Array(6 * n);
    }
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < 3; k++) {
        this.contacts.pos[3 * i + k] = c[6 * i + k];
        this.contacts.force[3 * i + k] = c[6 * i + 3 + k];
      }
    }
    this.contacts.offset.fill(n, 1);
    this.takeGoal(p.goal);
    this.pull.show(p.pull);
    if (this.settings.weight === 0) this.scale(Math.max(...this.contacts.force.subarray(0, 3 * n).map(Math.abs), 0));
  }

  // the stage draws against a loss's gradient: what raises the goal is the other way
  private takeGoal(g: Found | null): void {
    this.push.value.fill(0);
    let most = 0;
    if (g !== null && g.error === undefined) {
      const arrows = floats(g.arrows);
      this.push.at.set(floats(g.at));
      for (let i = 0; i < arrows.length; i += 3) most = Math.max(most, Math.hypot(arrows[i], arrows[i + 1], arrows[i + 2]));
      for (let i = 0; i < arrows.length; i++) this.push.value[i] = -arrows[i];
    }
    this.longest = Math.max(most, 0.98 * this.longest);
    this.stage.showPushes = this.panel.gradient && g !== null;
    this.scale(this.settings.weight);
  }

  private scale(force: number): void {
    this.stage.scaleArrows(force, 0, this.longest / LONGEST);
  }

  private legend(): void {
    const parts: HTMLElement[] = [];
    const line = (name: string, color: string) => {
      const swatch = el('span', { class: 'swatch' });
      swatch.style.background = color;
      parts.push(el('div', {}, swatch, name));
    };
    if (this.stage.showForces && this.settings.weight > 0) line(`contact force, longest ${two(this.stage.longestForce)} N`, FORCE_COLOR);
    if (this.stage.showPushes && this.longest > 0) line(this.panel.legend(two(this.longest)), PUSH_COLOR);
    const pull = this.picture?.pull;
    if (pull) line(`pull ${two(Math.hypot(...pull.force))} N`, Pull.COLOR);
    const texts = parts.map((p) => p.textContent).join();
    if (get('legend').dataset.now === texts) return;
    get('legend').dataset.now = texts;
    get('legend').replaceChildren(...parts);
    get('legend').hidden = parts.length === 0;
  }

  private tell(p: Picture | null): void {
    const text = this.ended ? 'no longer live: the program that served this page has ended' : p?.failed ? `stopped: ${p.failed} – Reset, or another contact model` : this.refused || p?.told || '';
    if (this.note.textContent !== text) this.note.textContent = text;
    this.note.hidden = text === '';
    this.note.classList.toggle('bad', this.ended || Boolean(p?.failed) || this.refused !== '');
  }

  private showState(p: Picture): void {
    const title = p.running ? 'Pause (space)' : 'Run (space)';
    if (this.play.title !== title) {
      this.play.replaceChildren(icon(p.running ? PAUSE : PLAY));
      this.play.title = title;
      this.play.setAttribute('aria-label', title);
    }
    if (document.activeElement !== this.speed && SPEEDS.includes(p.speed)) this.speed.value = String(p.speed);
    const slow = p.running && p.rate < 0.9 * p.speed ? `, ${p.rate.toFixed(2)}× is all that can be had` : '';
    const others = p.viewers > 1 ? ` · ${p.viewers} pages are open` : '';
    const text = `${p.t.toFixed(3)} s`;
    this.clock.replaceChildren(text, el('small', {}, `${p.info.contacts ?? 0} contacts${slow}${others}`));
    if (performance.now() - this.panelAt > 100 || !p.running) {
      this.panel.showPicture(p.ctrl, p.goal);
      this.panelAt = performance.now();
    }
  }

  private tick(): void {
    const began = performance.now();
    if (this.dirty) {
      this.dirty = false;
      const p = this.picture;
      if (p !== null && p.n !== this.shown) {
        this.take(p);
        this.showState(p);
        this.shown = p.n;
        if (p.settings !== this.version) void this.learn();
      }
      this.tell(p);
      this.legend();
      this.stage.pose(0, -1, 0, 0, 0, [0, 0], false);
      this.stage.controls.update();
      this.stage.render();
      this.drawings++;
      this.spent.push(performance.now() - began + this.owed);
      this.owed = 0;
      if (this.spent.length > 600) this.spent.shift();
    }
    requestAnimationFrame(() => this.tick());
  }

  /// What tests read and drive.
  hooks() {
    const c = this.stage.camera;
    return {
      live: true,
      drawn: () => (this.picture?.n === this.shown && this.picture.settings === this.version && !this.dirty),
      pictures: () => this.count,
      drawings: () => this.drawings,
      picture: () => this.picture,
      settings: () => this.settings,
      body: (i: number) => [...this.trajectory.pos.subarray(3 * i, 3 * i + 3)],
      pushes: () => [...this.push.value.subarray(0, 3 * this.trajectory.nbody)].map((x) => -x),
      forces: () => [...this.contacts.force.subarray(0, 3 * this.contacts.offset[1])],
      project: (x: number, y: number, z: number) => this.stage.project(new THREE.Vector3(x, y, z)),
      bodyAt: (x: number, y: number) => this.stage.bodyAt(x, y)?.body ?? -1,
      camera: () => ({ position: c.position.toArray(), target: this.stage.controls.target.toArray() }),
      following: () => this.stage.follow !== STAY,
      told: () => (this.note.hidden ? '' : this.note.textContent),
      command: (what: object) => this.command(what),
      script: () => [...this.spent],
    };
  }
}

const two = (v: number): string => short(Number(v.toPrecision(2)));
