'use client';
// Filters in the URL: a filtered list can be linked, and Back undoes a filter. The field updates at once, the URL when
// typing pauses.
import { usePathname, useRouter, useSearchParams } from 'next/navigation';
import { useEffect, useState } from 'react';

const TYPING_PAUSE_MS = 200;

export function useUrlFilter(name: string): { value: string; set: (value: string) => void } {
  const router = useRouter();
  const pathname = usePathname();
  const params = useSearchParams();
  const value = params.get(name) ?? '';
  return {
    value,
    set: (next) => {
      const changed = new URLSearchParams(params);
      if (next === '') changed.delete(name);
      else changed.set(name, next);
      const query = changed.toString();
      router.replace(query === '' ? pathname : `${pathname}?${query}`, { scroll: false });
    },
  };
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
