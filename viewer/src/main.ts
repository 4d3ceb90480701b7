// main.ts: reads the replay in the page, shows its first frames, reads the rest, and offers window.__tangere to tests and to the command line.
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { blocksOf, loadFirst, loadRest } from './blocks';
import { readReplay } from './data';
import { el } from './dom';
import { get, Player } from './player';

const page = window as unknown as Record<string, unknown>;

function fail(e: unknown): void {
  const text = (e as Error).message;
  document.body.replaceChildren(el('p', { class: 'failure', role: 'alert' }, text));
  page.__tangere = { ready: false, error: text };
}

// a blob for the command line, which cannot take one: as base64 text, piece by piece
async function textOf(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let raw = '';
  for (let i = 0; i < bytes.length; i += 32768) raw += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(raw);
}

async function start(): Promise<void> {
  const replay = readReplay(get('tangere-replay').textContent ?? '');
  const source = blocksOf(document);
  await loadFirst(replay, source);
  const player = new Player(replay);
  player.draw();
  const opened = performance.now();
  await loadRest(replay, source, () => player.loaded());
  const hooks = player.hooks();
  let made = '';
  page.__tangere = {
    ready: true, opened, loaded: performance.now(), ...hooks,
    makePicture: async (w: number, h: number, frame: number) => (made = await textOf(await hooks.picture(w, h, frame))).length,
    makeVideo: async (w: number, h: number, fps: number, speed: number) => (made = await textOf(await hooks.video(w, h, fps, speed))).length,
    made: (from: number, to: number) => made.slice(from, to),
  };
}

start().catch(fail);
