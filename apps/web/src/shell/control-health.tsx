'use client';
// Connection status of the control plane, as seen by this page's live stream.
import { StateMark, type Tone } from '@fairlead/ui/state-pill';
import { useSyncExternalStore } from 'react';
import { type LiveStatus, liveHealth } from '../api/live-health.ts';

const LOOK: Record<
  LiveStatus,
  { readonly tone: Tone; readonly shape: 'dot' | 'half' | 'bang'; readonly text: string }
> = {
  idle: { tone: 'idle', shape: 'dot', text: 'Control plane' },
  connecting: { tone: 'busy', shape: 'half', text: 'Connecting' },
  live: { tone: 'ok', shape: 'dot', text: 'Control plane live' },
  broken: { tone: 'warn', shape: 'bang', text: 'No live data' },
};

export function ControlHealth() {
  const status = useSyncExternalStore(liveHealth.subscribe, liveHealth.read, () => 'connecting' as const);
  const look = LOOK[status];
  return (
    <div
      role="status"
      title={look.text}
      className="flex h-8 items-center gap-2.5 px-2.5 text-sm text-ink-faint max-lg:justify-center max-lg:px-0"
    >
      <span className="flex size-4 items-center justify-center">
        <StateMark tone={look.tone} shape={look.shape} />
      </span>
      <span className="max-lg:sr-only">{look.text}</span>
    </div>
  );
}
