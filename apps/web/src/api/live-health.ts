// Connection status of the page's live stream, shared within a browser tab: the page writes it, the navigation rail
// shows it.
export type LiveStatus = 'idle' | 'connecting' | 'live' | 'reconnecting' | 'broken';

const listeners = new Set<() => void>();
let status: LiveStatus = 'idle';

export const liveHealth = {
  /** A second connection has a status of its own: until it is live, the page shows what was true before. */
  set(reported: Exclude<LiveStatus, 'reconnecting'>): void {
    const wasConnected = status === 'live' || status === 'reconnecting' || status === 'broken';
    const next = reported === 'connecting' && wasConnected ? 'reconnecting' : reported;
    if (next === status) return;
    status = next;
    for (const listener of listeners) listener();
  },
  read: (): LiveStatus => status,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};
