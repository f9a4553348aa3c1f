'use client';
// Selected theme, shared by the menu, the palette and the settings page.
import { useSyncExternalStore } from 'react';
import { applyTheme, currentTheme, type Theme } from './theme.ts';

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function setTheme(theme: Theme): void {
  applyTheme(theme);
  for (const listener of listeners) listener();
}

export interface ThemeState {
  readonly theme: Theme;
  /** True if the page is dark now, by choice or by the system's setting. */
  readonly isDark: boolean;
  readonly setTheme: (theme: Theme) => void;
}

export function useTheme(): ThemeState {
  const theme = useSyncExternalStore(subscribe, currentTheme, () => 'system' as const);
  const systemIsDark = useSyncExternalStore(subscribeSystem, readSystem, () => false);
  return { theme, isDark: theme === 'dark' || (theme === 'system' && systemIsDark), setTheme };
}

const DARK = '(prefers-color-scheme: dark)';

function readSystem(): boolean {
  return window.matchMedia(DARK).matches;
}

function subscribeSystem(listener: () => void): () => void {
  const query = window.matchMedia(DARK);
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
}
