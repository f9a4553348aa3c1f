'use client';
// Reads the one-time token from a link's fragment. Browsers never send the fragment, so no log and no Referer contains
// the token.
import { useSyncExternalStore } from 'react';

const TOKEN_LENGTH_MAX = 200;

/** Returns the link's token, '' when it has none, null before hydration. */
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
