// dom.ts: small makers of page elements. All text goes through textContent: names in a file are never markup.

type Props = Record<string, string | boolean | EventListener>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, props: Props = {}, ...inside: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (typeof v === 'function') e.addEventListener(k, v);
    else if (typeof v === 'boolean') e.toggleAttribute(k, v);
    else e.setAttribute(k, v);
  }
  e.append(...inside);
  return e;
}

/// A 16 x 16 filled icon.
export function icon(path: string): SVGSVGElement {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  const p = document.createElementNS(ns, 'path');
  p.setAttribute('d', path);
  svg.append(p);
  return svg;
}

export function options(select: HTMLSelectElement, labels: string[], values: number[], chosen: number): void {
  select.replaceChildren(...labels.map((label, i) => new Option(label, String(values[i]), false, values[i] === chosen)));
}

/// A button that stays pressed.
export function toggle(label: string, on: boolean, title: string, change: (on: boolean) => void): HTMLButtonElement {
  const b = el('button', { type: 'button', 'aria-pressed': String(on), title }, label);
  b.addEventListener('click', () => {
    const next = b.getAttribute('aria-pressed') !== 'true';
    b.setAttribute('aria-pressed', String(next));
    change(next);
  });
  return b;
}

/// The page's own element of that id.
export function get<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}
