'use client';
// The one-time token of a link. It stands behind the '#', which browsers never send: no log and no Referer holds it.
import { useSyncExternalStore } from 'react';

const TOKEN_LENGTH_MAX = 200;

/** The link's token, '' when it has none, null while the page is still the server's. */
export function useLinkToken(): string | null {
  return useSyncExternalStore(onHashChange, readToken, () => null);
}

function readToken(): string {
  return (new URLSearchParams(window.location.hash.slice(1)).get('token') ?? '').slice(0, TOKEN_LENGTH_MAX);
}

function onHashChange(changed: () => void): () => void {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}
