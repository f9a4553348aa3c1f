// Runs one task at a time and keeps only the latest pending one.

export interface LatestQueue<T> {
  offer(item: T): void;
  /** Drops the pending task; resolves when no task runs any more. */
  stop(): Promise<void>;
}

export function createLatestQueue<T>(work: (item: T) => Promise<void>, fail: (error: unknown) => void): LatestQueue<T> {
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
