'use client';
// Modifier key of the command palette on the reader's platform.
import { useSyncExternalStore } from 'react';

const never = () => () => undefined;

/** Returns "⌘" on Apple's platforms, and "Ctrl" elsewhere and on the server. */
export function useCommandKey(): '⌘' | 'Ctrl' {
  return useSyncExternalStore(
    never,
    () => commandKeyOf(navigator.userAgent),
    () => 'Ctrl' as const,
  );
}

export function commandKeyOf(userAgent: string): '⌘' | 'Ctrl' {
  return /Mac OS X|Macintosh|iPhone|iPad/.test(userAgent) ? '⌘' : 'Ctrl';
}
