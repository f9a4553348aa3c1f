// The worker process: reads its settings, starts, and stops cleanly on a signal.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys, openMasterKeyFile } from '@fairlead/core/secret';
import { createDatabase } from '@fairlead/db';
import { openMailer } from '@fairlead/mail';
import { buildSlots, freeBytesMin, poolSizes, readEnvironment } from '@fairlead/settings';
import { pino } from 'pino';
import { createBackupMaker } from './backup-process.ts';
import { startWorker } from './worker.ts';

// Nothing else reads process.env.
const env = readEnvironment('worker', process.env);
const log = pino({ level: env.LOG_LEVEL, base: { process: 'worker' } });
const database = createDatabase({
  url: env.DATABASE_URL,
  poolMax: env.FAIRLEAD_WORKER_POOL,
  applicationName: 'fairlead-worker',
  onConnectionError: (error) => log.warn({ err: error }, 'a database connection was lost'),
});
await database.assertSafe(poolSizes(env));
const worker = await startWorker({
  database,
  databaseUrl: env.DATABASE_URL,
  secretKeys: createSecretKeys(await openMasterKeyFile(env.FAIRLEAD_MASTER_KEY_FILE)),
  mailer: await openMailer(env),
  publicUrl: env.FAIRLEAD_PUBLIC_URL,
  acmeDirectoryUrl: env.FAIRLEAD_ACME_DIRECTORY_URL,
  concurrentJobs: env.FAIRLEAD_WORKER_JOBS,
  buildSlots: buildSlots(env),
  workerId: `${hostname()}:${randomUUID()}`,
  logs: createFolderLogStore(env.FAIRLEAD_LOG_STORE_DIR, { freeBytesMin: freeBytesMin(env) }),
  artifacts: createFolderArtifactStore(
    env.FAIRLEAD_ARTIFACT_STORE_DIR ?? join(env.FAIRLEAD_LOG_STORE_DIR, 'artifacts'),
    { freeBytesMin: freeBytesMin(env) },
  ),
  backups: createBackupMaker(env, log),
  log,
});
log.info({ jobs: env.FAIRLEAD_WORKER_JOBS, pool: env.FAIRLEAD_WORKER_POOL }, 'ready');

async function stop(signal: string): Promise<void> {
  log.info({ signal }, 'stopping');
  await worker.stop();
  await database.close();
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    stop(signal).catch((error: unknown) => {
      log.error({ err: error }, 'the worker did not stop cleanly');
      process.exitCode = 1;
    });
  });
}
