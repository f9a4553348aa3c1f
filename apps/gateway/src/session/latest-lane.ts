// Work of which only the newest counts: reports and syncs. While one is under way at most one waits, and a newer one
// takes its place.

export interface LatestLane<T> {
  offer(item: T): void;
  /** Forgets what waits; resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

export function createLatestLane<T>(work: (item: T) => Promise<void>, fail: (error: unknown) => void): LatestLane<T> {
  let waiting: { readonly item: T } | null = null;
  let running: Promise<void> | null = null;

  async function drain(): Promise<void> {
    while (waiting !== null) {
      const { item } = waiting;
      waiting = null;
      await work(item);
    }
  }

  return {
    offer: (item) => {
      waiting = { item };
      running ??= drain()
        .catch(fail)
        .finally(() => {
          running = null;
        });
    },
    stop: async () => {
      waiting = null;
      await running;
    },
  };
}
