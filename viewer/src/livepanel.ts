// livepanel.ts: what stands beside a simulation that runs: controls with the goal's gradient in each, the contact model with its options, the goal.
import { short } from './charts';
import type { Replay } from './data';
import { el, options, toggle } from './dom';
import type { Found } from './live';
import { titleOf } from './panel';
import { type Stage, STAY } from './scene';

export interface Option_ {
  name: string;
  type: 'number' | 'integer' | 'boolean' | 'word';
  default: number | boolean | string | null;
  range: (number | string | boolean | null)[];
  unit: string;
  text: string;
}

/// What changes by command alone, as the server says it.
export interface Settings {
  settings: number;
  dt: number;
  contact: string;
  models: string[];
  options: Record<string, Option_[]>;
  values: Record<string, number | boolean | string | null>;
  actuators: { name: string; low: number; high: number }[];
  keys: string[];
  moves: boolean[];
  free: number[];
  weight: number;
  goal: { body: number; of: string; in: string; steps: number; target: number[] } | null;
  longest: number;
}

/// What the panel asks for.
export interface PanelCommands {
  command(what: object): Promise<boolean>;
  redraw(): void;
  theme(dark: boolean): void;
  follow(body: number): void;
}

type Field = HTMLInputElement | HTMLSelectElement;

function row(name: string, field: HTMLElement, title = ''): HTMLElement {
  return el('div', { class: 'row', title }, el('label', { for: field.id }, name), field);
}

export class LivePanel {
  gradient = true; // arrows are shown where there is a goal
  private buttons: Record<string, HTMLButtonElement> = {};
  private sliders: { slider: HTMLInputElement; value: HTMLElement; gradient: HTMLElement }[] = [];
  private sub: HTMLElement;
  private follow = el('select', { id: 'follow' });
  private strengthField = el('input', { id: 'strength', type: 'range', min: '-1', max: '1', step: '0.05', value: '0', 'aria-label': 'Strength of a pull' });
  private model = el('select', { id: 'contact' });
  private optionBox = el('div', { id: 'options' });
  private optionFields: Record<string, Field> = {};
  private dt = el('input', { id: 'dt', type: 'text', inputmode: 'decimal' });
  private separate = el('input', { id: 'separate', type: 'checkbox' });
  private apply = el('button', { type: 'button', id: 'apply' }, 'Apply');
  private goalBody = el('select', { id: 'goal-body' });
  private goalOf = el('select', { id: 'goal-of' }, new Option('nothing', ''), ...['x', 'y', 'z'].map((k) => new Option(`its ${k}`, k)), new Option('its distance to', 'distance'));
  private goalIn = el('select', { id: 'goal-in' }, new Option('a push on each body', 'push'), new Option('the place of each body', 'place'),
    new Option('controls', 'controls'));
  private goalSteps = el('input', { id: 'goal-steps', type: 'text', inputmode: 'numeric', value: '25' });
  private goalTarget = el('input', { id: 'goal-target', type: 'text', value: '0 0 1' });
  private goalTold = el('div', { id: 'goal-told', class: 'sub' });
  private targetRow: HTMLElement;
  private laid = false; // once

  constructor(host: HTMLElement, private replay: Replay, private settings: Settings, private stage: Stage, dark: boolean, private to: PanelCommands) {
    const bodies = replay.models[0].bodies;
    const moving = bodies.map((name, i) => ({ name, i })).filter(({ i }) => settings.moves[i]);
    this.sub = el('div', { class: 'sub', id: 'model' });
    options(this.follow, ['nothing', ...moving.map((b) => b.name)], [STAY, ...moving.map((b) => b.i)], STAY);
    this.follow.addEventListener('change', () => to.follow(Number(this.follow.value)));
    options(this.goalBody, moving.map((b) => b.name), moving.map((b) => b.i), moving[0]?.i ?? 0);
    this.targetRow = row('Point [m]', this.goalTarget);
    host.append(...titleOf(replay).slice(0, 1), this.sub, row('Follow', this.follow), row('Pull', this.strengthField, 'How strong the spring of the mouse is'), this.toggles(dark));
    if (settings.actuators.length > 0) host.append(el('h2', {}, 'Controls'), this.layControls());
    host.append(el('h2', {}, 'Gradient'), row('Of', this.goalOf), row('Body', this.goalBody), this.targetRow,
      row('After', this.goalSteps, 'Steps with the controls held'), row('In', this.goalIn), this.goalTold);
    host.append(el('h2', {}, 'Contact'), row('Model', this.model), row('Step [s]', this.dt), this.optionBox,
      row('Move apart', this.separate, 'Bodies that overlap are moved apart by the least motion'), this.apply);
    for (const f of [this.goalOf, this.goalBody, this.goalSteps, this.goalTarget, this.goalIn]) f.addEventListener('change', () => void this.setGoal());
    options(this.model, settings.models, settings.models.map((_, i) => i), 0);
    this.model.addEventListener('change', () => this.layOptions());
    this.apply.addEventListener('click', () => void this.switchContact());
    this.show(settings);
  }

  private toggles(dark: boolean): HTMLElement {
    const box = el('div', { class: 'toggles' });
    const add = (key: string, name: string, on: boolean, title: string, change: (on: boolean) => void) => {
      this.buttons[key] = toggle(name, on, title, (next) => { change(next); this.to.redraw(); });
      box.append(this.buttons[key]);
    };
    add('c', 'Forces', true, 'Contact forces as arrows (C)', (on) => (this.stage.showForces = on));
    add('g', 'Gradient', true, 'The gradient as arrows (G)', (on) => { this.gradient = on; this.stage.showPushes = on; });
    if (this.stage.hasCollisionShapes) add('x', 'Collision shapes', false, 'Shapes that touch in place of those to look at (X)', (on) => (this.stage.collisionShapes = on));
    add('d', 'Dark', dark, 'Dark or light (D)', (on) => this.to.theme(on));
    return box;
  }

  /// As if the button of that key were clicked; none: nothing.
  press(key: string): void {
    this.buttons[key]?.click();
  }

  followNext(): void {
    this.follow.selectedIndex = (this.follow.selectedIndex + 1) % this.follow.length;
    this.to.follow(Number(this.follow.value));
  }

  get strength(): number {
    return 10 ** Number(this.strengthField.value);
  }

  // ---- controls ----

  private layControls(): HTMLElement {
    const box = el('div', { id: 'controls' });
    this.settings.actuators.forEach((a, i) => {
      const slider = el('input', { type: 'range', min: String(a.low), max: String(a.high), step: 'any', id: `ctrl-${i}`, 'aria-label': a.name });
      const value = el('span', { class: 'value' }), gradient = el('span', { class: 'gradient', title: 'Gradient of the goal in this control, held' });
      slider.addEventListener('input', () => void this.to.command({ ctrl: { [i]: Number(slider.value) } }));
      slider.addEventListener('dblclick', () => void this.to.command({ ctrl: { [i]: Math.min(Math.max(0, a.low), a.high) } }));
      this.sliders.push({ slider, value, gradient });
      box.append(el('div', { class: 'control' }, el('label', { for: slider.id }, a.name), value, slider, gradient));
    });
    return box;
  }

  /// Values of the controls, and the gradient in them.
  showPicture(ctrl: number[], goal: Found | null): void {
    const g = goal !== null && goal.error === undefined ? goal.controls : null;
    const most = g === null ? 0 : Math.max(...g.map(Math.abs), 0);
    this.sliders.forEach(({ slider, value, gradient }, i) => {
      if (slider.dataset.shown !== String(ctrl[i]) && !slider.matches(':active')) slider.value = slider.dataset.shown = String(ctrl[i]);
      set(value, short(Number(ctrl[i].toPrecision(3))));
      set(gradient, g === null ? '' : `${g[i] >= 0 ? '+' : '−'}${Math.abs(g[i]).toPrecision(2)}`);
      const strength = g === null || most === 0 ? '1' : (0.35 + 0.65 * Math.abs(g[i]) / most).toFixed(2);
      if (gradient.style.opacity !== strength) gradient.style.opacity = strength;
    });
    const found = this.settings.goal === null ? '' : goal === null ? 'is being computed' : goal.error ?? `${goal.value.toPrecision(4)} m · gradient ${goal.label}${goal.reason === '' ? '' : `: ${goal.reason}`} · ${Math.round(1000 * goal.seconds)} ms`;
    set(this.goalTold, found);
  }

  // ---- contact model ----

  private layOptions(): void {
    const word = this.settings.models[Number(this.model.value)];
    const here = word === this.settings.contact;
    this.optionFields = {};
    const rows = (this.settings.options[word] ?? []).map((o) => {
      const now = here ? this.settings.values[o.name] : o.default;
      const id = `option-${o.name}`;
      let field: Field;
      if (o.type === 'boolean') field = el('input', { type: 'checkbox', id, checked: now === true });
      else if (o.type === 'word') field = el('select', { id }, ...o.range.map((w) => new Option(String(w), String(w), false, w === now)));
      else field = el('input', { type: 'text', inputmode: 'decimal', id, value: now === null || now === undefined ? '' : String(now) });
      this.optionFields[o.name] = field;
      field.dataset.was = read(field);
      const about = o.type === 'word' || o.type === 'boolean' ? '' : ` (${[o.range[0] ?? '', o.range[1] ?? ''].join(' to ')})`;
      return row(o.unit === '' ? o.name : `${o.name} [${o.unit}]`, field, o.text + about);
    });
    const box = el('details', { id: 'all-options', open: this.optionBox.querySelector('details')?.open ?? false }, el('summary', {}, `${rows.length} options`), ...rows);
    this.optionBox.replaceChildren(...(rows.length > 0 ? [box] : []));
  }

  private async switchContact(): Promise<void> {
    const word = this.settings.models[Number(this.model.value)];
    const here = word === this.settings.contact;
    const chosen: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(this.optionFields)) {
      const text = read(field);
      if (text !== '' && (here || text !== field.dataset.was)) chosen[name] = field.type === 'checkbox' ? text === 'true' : text;
    }
    this.apply.disabled = true;
    const done = await this.to.command({ contact: { word, options: chosen, dt: Number(this.dt.value), separate: this.separate.checked } });
    this.apply.disabled = false;
    if (!done) this.showContact(); // the old one stays
  }

  // the one that runs
  private showContact(): void {
    this.model.value = String(this.settings.models.indexOf(this.settings.contact));
    this.dt.value = String(this.settings.dt);
    this.layOptions();
  }

  // ---- goal ----

  private async setGoal(): Promise<void> {
    this.targetRow.hidden = this.goalOf.value !== 'distance';
    const goal = this.goalOf.value === '' ? null : {
      body: Number(this.goalBody.value), of: this.goalOf.value, in: this.goalIn.value, steps: Number(this.goalSteps.value),
      target: this.goalTarget.value.trim().split(/[\s,]+/).map(Number),
    };
    await this.to.command({ goal });
  }

  /// What the arrows are, for the legend.
  legend(longest: string): string {
    const g = this.settings.goal;
    if (g === null) return '';
    const of = g.of === 'distance' ? `distance of ${this.replay.models[0].bodies[g.body]}` : `${g.of} of ${this.replay.models[0].bodies[g.body]}`;
    if (g.in === 'controls') return `control, about or along its joint, that raises ${of}, longest ${longest} m per unit`;
    return g.in === 'push' ? `push that raises ${of}, longest ${longest} m per N s` : `shift that raises ${of}, longest ${longest} m per m`;
  }

  /// Takes over what the server has.
  show(s: Settings): void {
    const same = this.laid && this.settings.contact === s.contact && this.settings.dt === s.dt && JSON.stringify(this.settings.values) === JSON.stringify(s.values);
    this.settings = s;
    if (!same) this.showContact(); // else what is chosen and not yet applied stays
    this.laid = true;
    this.sub.textContent = [this.replay.models[0].name, `contact ${s.contact}`, `steps of ${short(s.dt)} s`].filter(Boolean).join(' · ');
    const g = s.goal;
    this.goalOf.value = g?.of ?? '';
    if (g !== null) {
      this.goalBody.value = String(g.body);
      this.goalIn.value = g.in;
      this.goalSteps.value = String(g.steps);
      this.goalTarget.value = g.target.join(' ');
    }
    this.targetRow.hidden = this.goalOf.value !== 'distance';
  }
}

function read(field: Field): string {
  return field instanceof HTMLInputElement && field.type === 'checkbox' ? String(field.checked) : field.value.trim();
}

function set(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
