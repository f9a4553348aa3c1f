// Warning about something that succeeded but may be a problem.
import type { ReactNode } from 'react';
import { StateMark } from './state-pill.tsx';

export function WarnNote({ children }: { readonly children: ReactNode }) {
  return (
    <p className="flex gap-3 rounded-control bg-warn-wash px-3 py-2">
      <span className="mt-1">
        <StateMark tone="warn" />
      </span>
      <span className="text-pretty">{children}</span>
    </p>
  );
}
