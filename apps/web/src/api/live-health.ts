// Connection status of the page's live stream, shared within a browser tab: the page writes it, the navigation rail
// shows it.
export type LiveStatus = 'idle' | 'connecting' | 'live' | 'broken';

const listeners = new Set<() => void>();
let status: LiveStatus = 'idle';

export const liveHealth = {
  set(next: LiveStatus): void {
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
