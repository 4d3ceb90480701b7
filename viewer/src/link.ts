// link.ts: a moment of a replay as the part of an address behind '#': t=1.24&body=torso&cam=...

export interface Moment {
  t: number | null; // [s]
  body: string | null; // followed: a body's name, "motion" or "none"
  cam: number[] | null; // position and target [m]
  shown: number | null;
  against: number | null; // -1: nothing
  side: boolean | null;
  plot: string | null; // "name" or "name/part"
}

const whole = (v: string | null): number | null => (v !== null && /^-?\d+$/.test(v) ? Number(v) : null);

/// What cannot be read is null: an old or mistyped link still opens the page.
export function readMoment(hash: string): Moment {
  const p = new URLSearchParams(hash.replace(/^#/, ''));
  const t = p.get('t') === null || p.get('t') === '' ? NaN : Number(p.get('t'));
  const cam = (p.get('cam') ?? '').split(',').map((v) => (v === '' ? NaN : Number(v)));
  return {
    t: Number.isFinite(t) && t >= 0 ? t : null,
    body: p.get('body'),
    cam: cam.length === 6 && cam.every((v) => Number.isFinite(v)) ? cam : null,
    shown: whole(p.get('shown')), against: whole(p.get('against')),
    side: p.get('side') === null ? null : p.get('side') === '1',
    plot: p.get('plot'),
  };
}

export function writeMoment(m: Moment): string {
  const p = new URLSearchParams();
  if (m.t !== null) p.set('t', String(Number(m.t.toFixed(4))));
  if (m.body !== null) p.set('body', m.body);
  if (m.cam !== null) p.set('cam', m.cam.map((v) => Number(v.toPrecision(5))).join(','));
  if (m.shown !== null) p.set('shown', String(m.shown));
  if (m.against !== null) p.set('against', String(m.against));
  if (m.side !== null) p.set('side', m.side ? '1' : '0');
  if (m.plot !== null) p.set('plot', m.plot);
  return '#' + p.toString().replace(/%2C/g, ',').replace(/%2F/g, '/');
}
