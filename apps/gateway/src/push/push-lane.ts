// What one agent pushes, on its way to the store: kept in order, stored in batches, acknowledged after the commit. While a
// batch commits the next one gathers, so an idle agent waits for nobody and a busy one costs few transactions.
// Must never hold more than its bounds: above them it asks the socket to wait.
import type { Push } from '@fairlead/contract/agent';

export const batchMax = 256;
const waitingMax = 512;
const bytesMax = 32 * 1024 * 1024;

export interface PushLaneOptions {
  /** Stores a batch; answers the highest sequence that is stored. */
  readonly store: (pushes: readonly Push[]) => Promise<bigint>;
  readonly acknowledge: (sequence: bigint) => void;
  readonly fail: (error: unknown) => void;
  /** Asks the other side to wait, or to go on. */
  readonly pause: () => void;
  readonly resume: () => void;
}

export interface PushLane {
  /** `bytes`: the memory that the push takes. */
  add(push: Push, bytes: number): void;
  /** Drops what waits; the agent sends it again. Resolves when nothing is being stored any more. */
  stop(): Promise<void>;
}

interface Waiting {
  readonly push: Push;
  readonly bytes: number;
}

export function createPushLane(options: PushLaneOptions): PushLane {
  let waiting: Waiting[] = [];
  // Those that are being stored count too: they still lie in memory.
  let bytesHeld = 0;
  let storing: Promise<void> | null = null;
  let paused = false;
  let stopped = false;

  async function drain(): Promise<void> {
    while (waiting.length > 0 && !stopped) {
      const batch = waiting.slice(0, batchMax);
      waiting = waiting.slice(batchMax);
      const stored = await options.store(batch.map(({ push }) => push));
      if (stopped) return;
      bytesHeld -= sum(batch);
      options.acknowledge(stored);
      if (paused && waiting.length < waitingMax / 2 && bytesHeld < bytesMax / 2) {
        paused = false;
        options.resume();
      }
    }
  }

  return {
    add: (push, bytes) => {
      if (stopped) return;
      waiting.push({ push, bytes });
      bytesHeld += bytes;
      if (!paused && (waiting.length >= waitingMax || bytesHeld >= bytesMax)) {
        paused = true;
        options.pause();
      }
      storing ??= drain()
        .catch(options.fail)
        .finally(() => {
          storing = null;
        });
    },
    stop: async () => {
      stopped = true;
      waiting = [];
      await storing;
    },
  };
}

function sum(batch: readonly Waiting[]): number {
  return batch.reduce((total, { bytes }) => total + bytes, 0);
}
