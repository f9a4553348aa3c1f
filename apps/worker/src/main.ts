// The worker process: reads its settings, starts, and stops cleanly when asked.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createDatabase } from '@fairlead/db';
import { pino } from 'pino';
import { readEnv } from './env.ts';
import { queuePoolMax, startWorker } from './worker.ts';

// Of the budget of connections that all processes share: web 10, gateway 6, worker 6, the queue's included.
const poolMax = 6 - queuePoolMax;

const env = readEnv(process.env);
const log = pino({ level: env.LOG_LEVEL, base: { process: 'worker' } });
const database = createDatabase({
  url: env.DATABASE_URL,
  poolMax,
  applicationName: 'fairlead-worker',
  onConnectionError: (error) => log.warn({ err: error }, 'a database connection was lost'),
});
await database.assertSafe();
const worker = await startWorker({
  database,
  databaseUrl: env.DATABASE_URL,
  workerId: `${hostname()}:${randomUUID()}`,
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
