'use client';
// Network state of the browser, and the refusal of changes while it is offline: nothing is queued.
import { useSyncExternalStore } from 'react';

export const connection = {
  isOnline: (): boolean => typeof navigator === 'undefined' || navigator.onLine,
  subscribe(listener: () => void): () => void {
    window.addEventListener('online', listener);
    window.addEventListener('offline', listener);
    return () => {
      window.removeEventListener('online', listener);
      window.removeEventListener('offline', listener);
    };
  },
};

/** Returns true on the server. */
export function useIsOnline(): boolean {
  return useSyncExternalStore(connection.subscribe, connection.isOnline, () => true);
}
