// Whether the page's live stream runs: written by the page, shown by the rail. One value a browser tab.
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
