// The worker process: reads its settings, starts, and stops cleanly when asked.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createFolderLogStore } from '@fairlead/core/log';
import { connectionBudgets, createDatabase } from '@fairlead/db';
import { pino } from 'pino';
import { readEnv } from './env.ts';
import { queuePoolMax, startWorker } from './worker.ts';

const env = readEnv(process.env);
const log = pino({ level: env.LOG_LEVEL, base: { process: 'worker' } });
const database = createDatabase({
  url: env.DATABASE_URL,
  poolMax: connectionBudgets.worker - queuePoolMax,
  applicationName: 'fairlead-worker',
  onConnectionError: (error) => log.warn({ err: error }, 'a database connection was lost'),
});
await database.assertSafe();
const worker = await startWorker({
  database,
  databaseUrl: env.DATABASE_URL,
  workerId: `${hostname()}:${randomUUID()}`,
  logs: createFolderLogStore(env.FAIRLEAD_LOG_STORE_DIR),
  log,
});
log.info({}, 'ready');

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
