// Writes deliveries in groups: those that arrive during one commit share the next, so that each costs little.
import type { Clock } from '@fairlead/core/kernel';
import { type NewDelivery, type RecordedDelivery, recordDeliveries } from '@fairlead/core/push';
import type { Database } from '@fairlead/db';

export interface DeliveryWriter {
  /** Resolves once the delivery is committed. */
  write(delivery: NewDelivery): Promise<RecordedDelivery>;
}

interface Waiting {
  readonly delivery: NewDelivery;
  readonly resolve: (recorded: RecordedDelivery) => void;
  readonly reject: (error: unknown) => void;
}

const groupMax = 100;
const groupCharactersMax = 32 * 1024 * 1024;

export function createDeliveryWriter({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): DeliveryWriter {
  const waiting: Waiting[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) await commit(takeGroup(waiting));
    isRunning = false;
  }

  async function commit(group: readonly Waiting[]): Promise<void> {
    try {
      const deliveries = group.map(({ delivery }) => delivery);
      const recorded = await database.system('store webhook deliveries', (tx) =>
        recordDeliveries({ tx, clock }, deliveries),
      );
      for (const [index, { resolve }] of group.entries()) resolve(recorded[index] ?? { deliveryId: null });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  return {
    write: (delivery) =>
      new Promise((resolve, reject) => {
        waiting.push({ delivery, resolve, reject });
        if (!isRunning) void run();
      }),
  };
}

function takeGroup(waiting: Waiting[]): Waiting[] {
  let characters = 0;
  const fits = waiting.findIndex(({ delivery }, index) => {
    characters += delivery.body.length;
    return index >= groupMax || (index > 0 && characters > groupCharactersMax);
  });
  return waiting.splice(0, fits === -1 ? waiting.length : fits);
}
