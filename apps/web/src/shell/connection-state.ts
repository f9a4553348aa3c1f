'use client';
// Connection of the page to the control plane: the network, then the live stream.
import { useOffline } from 'next/offline';
import { useSyncExternalStore } from 'react';
import { useIsOnline } from '../api/connection.ts';
import { type LiveStatus, liveHealth } from '../api/live-health.ts';

export type ConnectionState = LiveStatus | 'offline';

export function useConnectionState(): ConnectionState {
  const status = useSyncExternalStore(liveHealth.subscribe, liveHealth.read, () => 'connecting' as const);
  const isOnline = useIsOnline();
  // Also true if the network is there and the control plane is not.
  const isUnreachable = useOffline();
  return isOnline && !isUnreachable ? status : 'offline';
}

/** Reports whether figures on the page may be out of date. */
export function isLost(state: ConnectionState): boolean {
  return state === 'offline' || state === 'reconnecting' || state === 'broken';
}
