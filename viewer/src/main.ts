// main.ts: reads the replay in the page, shows its first frames, reads the rest, and offers window.__tangere to tests and to the command line.
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { blocksOf, loadFirst, loadRest } from './blocks';
import { readReplay, ReplayError } from './data';
import { el, get } from './dom';
import { LivePage } from './live';
import { Player } from './player';

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

// The page of a running optimisation (tangere replay --live): asks its own server whether there is a newer one, and shows that from the same place.
async function watch(player: Player, state: string): Promise<void> {
  const told = get('live');
  told.hidden = false;
  for (;;) {
    await new Promise((done) => setTimeout(done, 1000));
    try {
      const now = await (await fetch('state', { cache: 'no-store' })).text();
      told.textContent = 'live';
      if (now === state || now === '') continue;
      const next = new DOMParser().parseFromString(await (await fetch('.', { cache: 'no-store' })).text(), 'text/html');
      const head = next.getElementById('tangere-replay')?.textContent ?? '';
      if (head === '') continue;
      const replay = readReplay(head);
      const source = blocksOf(next);
      await loadFirst(replay, source);
      await loadRest(replay, source, () => {});
      player = player.successor(replay);
      offer(player);
      state = now;
    } catch (e) {
      told.textContent = e instanceof ReplayError ? e.message : 'no longer live: the program that served this page has ended';
    }
  }
}

let made = '';
function offer(player: Player, times: object = {}): void {
  const hooks = player.hooks();
  page.__tangere = {
    ...(page.__tangere as object | undefined), ready: true, ...times, ...hooks,
    makePicture: async (w: number, h: number, frame: number) => (made = await textOf(await hooks.picture(w, h, frame))).length,
    makeVideo: async (w: number, h: number, fps: number, speed: number) => (made = await textOf(await hooks.video(w, h, fps, speed))).length,
    made: (from: number, to: number) => made.slice(from, to),
  };
}

async function start(): Promise<void> {
  const replay = readReplay(get('tangere-replay').textContent ?? '');
  const source = blocksOf(document);
  await loadFirst(replay, source);
  if (document.querySelector('meta[name="tangere-view"]') !== null) {
    const live = await LivePage.open(replay);
    page.__tangere = { ready: true, opened: performance.now(), ...live.hooks() };
    return;
  }
  const player = new Player(replay);
  player.draw();
  const opened = performance.now();
  await loadRest(replay, source, () => player.loaded());
  offer(player, { opened, loaded: performance.now() });
  const live = document.querySelector('meta[name="tangere-live"]');
  if (live !== null) void watch(player, live.getAttribute('content') ?? '');
}

start().catch(fail);
