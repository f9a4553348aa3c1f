'use client';
// The chosen theme, shared by the menu, the palette and the settings page.
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

export function useTheme(): { readonly theme: Theme; readonly setTheme: (theme: Theme) => void } {
  const theme = useSyncExternalStore(subscribe, currentTheme, () => 'system' as const);
  return { theme, setTheme };
}
