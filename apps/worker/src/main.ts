// The worker process: reads its settings, starts, and stops cleanly on a signal.

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { dashboardFacts, watchAddresses } from '@fairlead/core/dashboard-domain';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys, openMasterKeyFile } from '@fairlead/core/secret';
import { createDatabase } from '@fairlead/db';
import { createGithub } from '@fairlead/github';
import { openMailer } from '@fairlead/mail';
import { createOutbound } from '@fairlead/outbound';
import { buildSlots, freeBytesMin, poolSizes, readEnvironment } from '@fairlead/settings';
import { pino } from 'pino';
import { createBackupMaker } from './backup-process.ts';
import { openUpdateFeed } from './update-feed.ts';
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
const dashboard = dashboardFacts(env);
const addresses = await watchAddresses(database, dashboard, log);
const worker = await startWorker({
  database,
  databaseUrl: env.DATABASE_URL,
  secretKeys: createSecretKeys(await openMasterKeyFile(env.FAIRLEAD_MASTER_KEY_FILE)),
  github: createGithub({
    outbound: createOutbound({ allowed: env.FAIRLEAD_OUTBOUND_ALLOW }),
    now: () => new Date(),
  }),
  mailer: await openMailer(env),
  get publicUrl() {
    return addresses.publicUrl;
  },
  ...(dashboard.reach === 'served' ? { servedPort: dashboard.httpsPort } : {}),
  links: { localHttpsPort: env.FAIRLEAD_HTTPS_PORT, localHttpPort: env.FAIRLEAD_HTTP_PORT },
  acme: {
    directoryUrl: env.FAIRLEAD_ACME_DIRECTORY_URL,
    caPem: env.FAIRLEAD_ACME_CA_FILE === undefined ? '' : await readFile(env.FAIRLEAD_ACME_CA_FILE, 'utf8'),
    email: env.FAIRLEAD_ACME_EMAIL,
    binding: await readBinding(),
  },
  dns: { resolvers: env.FAIRLEAD_DNS_RESOLVERS, allowed: env.FAIRLEAD_OUTBOUND_ALLOW },
  concurrentJobs: env.FAIRLEAD_WORKER_JOBS,
  buildSlots: buildSlots(env),
  workerId: `${hostname()}:${randomUUID()}`,
  logs: createFolderLogStore(env.FAIRLEAD_LOG_STORE_DIR, { freeBytesMin: freeBytesMin(env) }),
  artifacts: createFolderArtifactStore(
    env.FAIRLEAD_ARTIFACT_STORE_DIR ?? join(env.FAIRLEAD_LOG_STORE_DIR, 'artifacts'),
    { freeBytesMin: freeBytesMin(env) },
  ),
  backups: createBackupMaker(env, log),
  updates: openUpdateFeed(env),
  log,
});
log.info({ jobs: env.FAIRLEAD_WORKER_JOBS, pool: env.FAIRLEAD_WORKER_POOL }, 'ready');

async function readBinding(): Promise<{ keyId: string; hmacKey: string } | null> {
  const { FAIRLEAD_ACME_EAB_KEY_ID: keyId, FAIRLEAD_ACME_EAB_HMAC_KEY_FILE: file } = env;
  if (keyId === undefined) return null;
  const hmacKey = file === undefined ? env.FAIRLEAD_ACME_EAB_HMAC_KEY : (await readFile(file, 'utf8')).trim();
  return hmacKey === undefined ? null : { keyId, hmacKey };
}

async function stop(signal: string): Promise<void> {
  log.info({ signal }, 'stopping');
  await worker.stop();
  await addresses.close();
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
