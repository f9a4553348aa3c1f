'use client';
// Number of navigations under way in this tab, which the shell's progress bar shows.
import { useRouter } from 'next/navigation';
import { useCallback, useEffect, useSyncExternalStore, useTransition } from 'react';

const listeners = new Set<() => void>();
let pendingCount = 0;

function add(count: number): void {
  pendingCount += count;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function useIsNavigating(): boolean {
  return useSyncExternalStore(
    subscribe,
    () => pendingCount > 0,
    () => false,
  );
}

/** Counts a navigation while it is pending. */
export function useNavigationReport(isPending: boolean): void {
  useEffect(() => {
    if (!isPending) return;
    add(1);
    return () => add(-1);
  }, [isPending]);
}

/** Returns `router.push` with progress. */
export function useNavigate(): (href: string) => void {
  const router = useRouter();
  const [isPending, start] = useTransition();
  useNavigationReport(isPending);
  return useCallback((href) => start(() => router.push(href)), [router]);
}
