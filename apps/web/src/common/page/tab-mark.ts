// Title and icon of a browser tab whose page shows something that runs, waits or failed. Pure.

export type TabMark = 'busy' | 'waiting' | 'failed';

const SIGN: Readonly<Record<TabMark, string>> = { busy: '●', waiting: '○', failed: '✕' };
const COLOUR: Readonly<Record<TabMark, string>> = { busy: '#3b82f6', waiting: '#d97706', failed: '#dc2626' };

export function markedTitle(mark: TabMark, label: string, title: string): string {
  return `${SIGN[mark]} ${label} · ${title}`;
}

/** Returns the logo with a dot, as a data URL. It can't read the theme's tokens. */
export function markedIcon(mark: TabMark): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none"><path d="M16.9 5.6A8 8 0 1 0 19.7 9.8" stroke="#f97a22" stroke-width="3.25"/><path d="M1.75 20.75 5 18M8.3 15.2 22.25 3.25" stroke="#8b95a5" stroke-width="2.25" stroke-linecap="round"/><circle cx="18" cy="18" r="6" fill="${COLOUR[mark]}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
