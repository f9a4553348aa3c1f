'use client';
// Reads the invitation token from the link's fragment, which browsers never send. While its holder signs in, the token
// waits in the tab's session storage, because a return URL must not contain it.
import { useSyncExternalStore } from 'react';

const TOKEN_LENGTH_MAX = 200;
const KEY = 'fairlead.invitation';

/** Returns the link's token, '' when there is none, null before hydration. */
export function useInvitationToken(): string | null {
  return useSyncExternalStore(onHashChange, readToken, () => null);
}

export function keepInvitationToken(token: string): void {
  window.sessionStorage.setItem(KEY, token);
}

/** Removes a used token from the history and the tab. */
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
