// theme.ts: colours of the view and the charts, light and dark.
import type { ChartTheme } from './charts';
import type { SceneTheme } from './scene';

export type Theme = SceneTheme & ChartTheme;
const CURVES = ['#e0894a', '#58a878', '#c96a8f', '#8a7fcf', '#c2a23f', '#4fa7b0', '#b5765a'];
export const LIGHT: Theme = {
  dark: false, base: '#eceef1', line: '#a9b3c0', text: '#667080', grid: '#e3e7ec', mark: '#e5484d', curves: ['#9aa7b8', '#2f7fd6', ...CURVES],
};
export const DARK: Theme = {
  dark: true, base: '#45494f', line: '#787f89', text: '#98a2b0', grid: '#2c3138', mark: '#ff6369', curves: ['#7f8ea3', '#5aa2f0', ...CURVES],
};

/// What the page was told, else what the system prefers.
export function startsDark(): boolean {
  const told = document.documentElement.dataset.theme;
  return told !== undefined ? told === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
}
