// Starts a new epoch after an earlier state of the database was restored, so that agents with a newer state accept it.
import { type Log, systemClock } from '@fairlead/core/kernel';
import { startNewEpoch } from '@fairlead/core/server';
import { createDatabase } from '@fairlead/db';
import type { Folders } from '../start/folders.ts';
import { isEnrolled } from '../start/local-agent.ts';

export interface EpochOptions {
  readonly folders: Folders;
  readonly databaseUrl: string;
  readonly backupMadeAt: Date;
  readonly log: Log;
}

/** Returns the number of servers that will accept the state as new. */
export async function beginEpoch({ databaseUrl, folders, backupMadeAt, log }: EpochOptions): Promise<number> {
  const database = createDatabase({ url: databaseUrl, poolMax: 1, applicationName: 'fairlead-restore' });
  try {
    return await database.system('restore from a backup', (tx) =>
      startNewEpoch({ tx, clock: systemClock, log }, { backupMadeAt, hasLocalAgent: isEnrolled(folders.agent) }),
    );
  } finally {
    await database.close();
  }
}
