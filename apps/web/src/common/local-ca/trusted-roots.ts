'use client';
// Fingerprints of the local roots that the person trusts or doesn't want to hear about. Stored in this browser, because
// each browser has its own list of trusted roots.
import { useSyncExternalStore } from 'react';

const KEY = 'fairlead.trusted-roots';
const listeners = new Set<() => void>();

/** Returns true before hydration, so that nothing flashes. */
export function useIsRootTrusted(fingerprint: string): boolean {
  return useSyncExternalStore(
    subscribe,
    () => readTrusted().includes(fingerprint),
    () => true,
  );
}

export function rememberTrust(fingerprint: string): void {
  window.localStorage.setItem(KEY, [...new Set([...readTrusted(), fingerprint])].join(' '));
  for (const listener of listeners) listener();
}

function readTrusted(): string[] {
  return (window.localStorage.getItem(KEY) ?? '').split(' ');
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
