'use client';
// Filters in the URL, so that a filtered list can be linked. A filter shows at once: the URL changes without a round trip
// to the server, whose page reads it only when it is loaded.
import { useSearchParams } from 'next/navigation';
import { useEffect, useState, useSyncExternalStore } from 'react';

const TYPING_PAUSE_MS = 200;

const listeners = new Set<() => void>();
/** Query of the URL that `replaceParams` has set last. */
let replaced: string | null = null;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Returns the query while it is still that of the page; a link or Back replaces it. */
function readReplaced(): string | null {
  return window.location.search === replaced ? replaced : null;
}

/** Returns the parameters of the URL. Next tells about a change in a transition, which a busy page delays. */
export function useUrlParams(): Pick<URLSearchParams, 'get'> {
  const params = useSearchParams();
  const query = useSyncExternalStore(subscribe, readReplaced, () => null);
  return query === null ? params : new URLSearchParams(query);
}

export function useUrlFilter(name: string): { value: string; set: (value: string) => void } {
  const params = useUrlParams();
  return { value: params.get(name) ?? '', set: (next) => replaceParams({ [name]: next }) };
}

/** Changes parameters of the URL at once; an empty value removes one. */
export function replaceParams(changes: Readonly<Record<string, string>>): void {
  const { pathname, search, hash } = window.location;
  const params = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') params.delete(name);
    else params.set(name, value);
  }
  const query = params.toString();
  window.history.replaceState(null, '', `${pathname}${query === '' ? '' : `?${query}`}${hash}`);
  replaced = window.location.search;
  for (const listener of listeners) listener();
}

/** Binds a text field to a filter: `typed` is for the field, `value` for the query. */
export function useUrlSearch(name = 'search'): { typed: string; setTyped: (text: string) => void; value: string } {
  const { value, set } = useUrlFilter(name);
  const [typed, setTyped] = useState(value);
  const [seen, setSeen] = useState(value);
  // Back or a link changed the URL: the field follows it.
  if (value !== seen) {
    setSeen(value);
    if (value !== typed.trim()) setTyped(value);
  }
  useEffect(() => {
    if (typed.trim() === value) return;
    const timer = setTimeout(() => set(typed.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, value, set]);
  return { typed, setTyped, value };
}
