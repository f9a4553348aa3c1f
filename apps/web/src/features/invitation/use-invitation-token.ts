'use client';
// The token of an invitation's link. It stands behind the '#', which browsers never send. While its holder signs in first, it
// waits in this tab's own storage: an address to come back to must not hold it.
import { useSyncExternalStore } from 'react';

const TOKEN_LENGTH_MAX = 200;
const KEY = 'fairlead.invitation';

/** The link's token, '' when there is none, null while the page is still the server's. */
export function useInvitationToken(): string | null {
  return useSyncExternalStore(onHashChange, readToken, () => null);
}

export function keepInvitationToken(token: string): void {
  window.sessionStorage.setItem(KEY, token);
}

/** A used token must stay neither in the history nor in the tab. */
export function forgetInvitationToken(): void {
  window.sessionStorage.removeItem(KEY);
  window.history.replaceState(null, '', '/invitation');
}

function readToken(): string {
  const inLink = new URLSearchParams(window.location.hash.slice(1)).get('token');
  return (inLink ?? window.sessionStorage.getItem(KEY) ?? '').slice(0, TOKEN_LENGTH_MAX);
}

function onHashChange(changed: () => void): () => void {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}
