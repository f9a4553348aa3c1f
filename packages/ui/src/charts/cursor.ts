'use client';
// Cursor that all charts of a page share. An external store, because moving it must redraw hairlines and figures but no
// chart.
import { createContext, useContext, useSyncExternalStore } from 'react';

export interface CursorStore {
  readonly subscribe: (listener: () => void) => () => void;
  readonly read: () => number | null;
  readonly set: (at: number | null) => void;
}

export function createCursorStore(): CursorStore {
  const listeners = new Set<() => void>();
  let current: number | null = null;
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    read: () => current,
    set(at) {
      if (at === current) return;
      current = at;
      for (const listener of listeners) listener();
    },
  };
}

export const CursorContext = createContext<CursorStore>(createCursorStore());

export function useCursor(): number | null {
  const store = useContext(CursorContext);
  return useSyncExternalStore(store.subscribe, store.read, store.read);
}
