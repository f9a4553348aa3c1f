// Keyboard key, such as ⌘K.
import type { ReactNode } from 'react';

export function Kbd({ children }: { readonly children: ReactNode }) {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded-mark border border-line-strong bg-surface px-1 font-sans text-xs text-ink-faint">
      {children}
    </kbd>
  );
}
