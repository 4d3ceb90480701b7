// keys.ts: which keys act, and when: not while a window, a list or a text field has them.
export type Actions = Record<string, (shift: boolean) => void>;

/// Calls the action of the key, which is named as in KeyboardEvent.key, letters in lower case.
export function answer(e: KeyboardEvent, actions: Actions): void {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLSelectElement) return;
  if (e.target instanceof HTMLInputElement && e.target.type === 'text') return;
  const what = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  if (what === undefined) return;
  e.preventDefault();
  what(e.shiftKey);
}
