'use client';
// Connection status of the page. A page without a live stream has none to show, so its place stays empty.
import { StateMark, type Tone } from '@fairlead/ui/state-pill';
import type { ConnectionState } from './connection-state.ts';

interface Look {
  readonly tone: Tone;
  readonly shape: 'dot' | 'half' | 'bang';
  readonly text: string;
}

const LOOK: Readonly<Record<ConnectionState, Look | null>> = {
  idle: null,
  connecting: { tone: 'busy', shape: 'half', text: 'Connecting' },
  reconnecting: { tone: 'warn', shape: 'half', text: 'Reconnecting' },
  live: { tone: 'ok', shape: 'dot', text: 'Live updates' },
  broken: { tone: 'warn', shape: 'bang', text: 'No live updates' },
  offline: { tone: 'warn', shape: 'bang', text: 'Offline' },
};

export function ControlHealth({ state }: { readonly state: ConnectionState }) {
  const look = LOOK[state];
  return (
    <div
      role="status"
      title={look?.text}
      className="flex h-8 items-center gap-2.5 px-2.5 text-sm text-ink-faint max-lg:justify-center max-lg:px-0"
    >
      {look === null ? null : (
        <>
          <span className="flex size-4 items-center justify-center">
            <StateMark tone={look.tone} shape={look.shape} />
          </span>
          <span className="max-lg:sr-only">{look.text}</span>
        </>
      )}
    </div>
  );
}
