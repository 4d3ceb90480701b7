// controls.ts: what is chosen beside the view: trajectories, the followed body, what is drawn; and what is made: links, pictures, videos.
import { label, type Replay } from './data';
import { el, options, toggle } from './dom';
import { MOTION, STAY, type Stage } from './scene';

/// What the controls ask for.
export interface Wishes {
  select(main: number | null, other: number | null): void; // null: as it is
  setFollow(what: number): void;
  setSide(on: boolean): void;
  theme(dark: boolean): void;
  redraw(): void; // with the legend
  copyLink(): void;
  savePicture(): void;
  saveVideo(button: HTMLButtonElement): void;
  showKeys(): void;
}

export class Controls {
  private shown = el('select', { id: 'shown', 'aria-label': 'Shown trajectory' });
  private against = el('select', { id: 'against', 'aria-label': 'Compared trajectory' });
  private followSelect = el('select', { id: 'follow', 'aria-label': 'Camera follows' });
  private buttons: Record<string, HTMLButtonElement> = {};
  private linkBox = el('input', { id: 'link', type: 'text', readonly: true, hidden: true, 'aria-label': 'Link to this moment' });

  constructor(host: HTMLElement, private replay: Replay, private stage: Stage, dark: boolean, private to: Wishes) {
    const row = (id: string, name: string, select: HTMLElement) => el('div', { class: 'row' }, el('label', { for: id }, name), select);
    if (replay.trajectories.length > 1) {
      const labels = replay.trajectories.map((_, i) => label(replay, i));
      options(this.shown, labels, labels.map((_, i) => i), 0);
      options(this.against, ['nothing', ...labels], [-1, ...labels.map((_, i) => i)], -1);
      this.shown.addEventListener('change', () => to.select(Number(this.shown.value), null));
      this.against.addEventListener('change', () => to.select(null, Number(this.against.value)));
      host.append(row('shown', 'Shown', this.shown), row('against', 'Against', this.against));
    }
    this.followSelect.addEventListener('change', () => to.setFollow(Number(this.followSelect.value)));
    host.append(row('follow', 'Follow', this.followSelect), this.toggles(dark), this.tools(), this.linkBox);
  }

  private toggles(dark: boolean): HTMLElement {
    const s = this.stage;
    const all = this.replay.trajectories;
    const box = el('div', { class: 'toggles' });
    const add = (key: string, name: string, on: boolean, title: string, change: (on: boolean) => void) => {
      this.buttons[key] = toggle(name, on, title, (next) => {
        change(next);
        this.to.redraw();
      });
      box.append(this.buttons[key]);
    };
    if (all.length > 1) add('s', 'Side by side', s.side, 'Two views in place of a ghost (S)', (on) => this.to.setSide(on));
    add('p', 'Path', true, 'Path of one body (P)', (on) => (s.showPaths = on));
    if (all.some((t) => t.impacts !== null || (t.contacts !== null && t.contacts.pos.length > 0))) add('c', 'Forces', true, 'Contact forces and impulses as arrows (C)', (on) => (s.showForces = on));
    if (all.some((t) => t.push !== null)) {
      add('g', 'Gradient', false, 'Which way a push on each body would lower the loss: minus the gradient of the loss in an impulse at its centre of mass (G)',
          (on) => (s.showPushes = on));
    }
    if (s.hasCollisionShapes) add('x', 'Collision shapes', false, 'Shapes that touch in place of those to look at', (on) => (s.collisionShapes = on));
    add('d', 'Dark', dark, 'Dark or light (D)', (on) => this.to.theme(on));
    return box;
  }

  private tools(): HTMLElement {
    const button = (name: string, title: string, act: () => void) => {
      const b = el('button', { type: 'button', title }, name);
      b.addEventListener('click', act);
      return b;
    };
    const video = button('Video', 'Save the run as a WebM video', () => this.to.saveVideo(video));
    return el('div', { class: 'toggles' },
      button('Copy link', 'Copy a link to this moment (L)', () => this.to.copyLink()),
      button('Picture', 'Save this view as a PNG', () => this.to.savePicture()), video,
      button('Keys', 'What the keys do (?)', () => this.to.showKeys()));
  }

  /// As if the button of that key were clicked; none: nothing.
  press(key: string): void {
    this.buttons[key]?.click();
  }

  showDark(dark: boolean): void {
    this.buttons.d.setAttribute('aria-pressed', String(dark));
  }

  showSelected(main: number, other: number): void {
    this.shown.value = String(main);
    this.against.value = String(other);
  }

  /// Bodies to follow, of the model of the shown run.
  layFollow(bodies: string[]): void {
    options(this.followSelect, ['nothing', 'the motion', ...bodies.slice(1)], [STAY, MOTION, ...bodies.slice(1).map((_, i) => i + 1)], this.stage.follow);
  }

  showFollow(what: number): void {
    this.followSelect.value = String(what);
  }

  /// The moment into the address and the clipboard.
  async giveLink(hash: string): Promise<void> {
    this.linkBox.value = hash; // all there is of an address in a notebook
    this.linkBox.hidden = false;
    try {
      history.replaceState(null, '', hash);
      this.linkBox.value = location.href;
      await navigator.clipboard.writeText(location.href);
    } catch {
      this.linkBox.select(); // the reader copies it
    }
  }
}
