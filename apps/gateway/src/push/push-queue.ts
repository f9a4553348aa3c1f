// Queue of one agent's pushes: keeps their order, stores them in batches, acknowledges after the commit. Invariant:
// bounded; at its limit it pauses the socket.
import type { Push } from '@fairlead/contract/agent';

export const batchMax = 256;
const waitingMax = 512;
const bytesMax = 32 * 1024 * 1024;

export interface PushQueueOptions {
  /** Stores a batch and returns the highest stored sequence. */
  readonly store: (pushes: readonly Push[]) => Promise<bigint>;
  readonly acknowledge: (sequence: bigint) => void;
  readonly fail: (error: unknown) => void;
  /** Pauses the socket. */
  readonly pause: () => void;
  readonly resume: () => void;
}

export interface PushQueue {
  /** Adds a push; `bytes` is the memory it takes. */
  add(push: Push, bytes: number): void;
  /** Drops the queued pushes, which the agent sends again. Resolves when no batch is being stored any more. */
  stop(): Promise<void>;
}

interface Waiting {
  readonly push: Push;
  readonly bytes: number;
}

export function createPushQueue(options: PushQueueOptions): PushQueue {
  let waiting: Waiting[] = [];
  // Includes the batch being stored: it still takes memory.
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
