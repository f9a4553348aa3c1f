// The gateway process: reads its settings, starts, and stops cleanly when asked.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys, openMasterKeyFile } from '@fairlead/core/secret';
import { createDatabase } from '@fairlead/db';
import { freeBytesMin, poolSizes, readEnvironment } from '@fairlead/settings';
import { pino } from 'pino';
import { controlHosts } from './control-hosts.ts';
import { startGateway } from './gateway.ts';

// Nothing else reads process.env.
const env = readEnvironment('gateway', process.env);
const log = pino({ level: env.LOG_LEVEL, base: { process: 'gateway' } });
const database = createDatabase({
  url: env.DATABASE_URL,
  poolMax: env.FAIRLEAD_GATEWAY_POOL,
  applicationName: 'fairlead-gateway',
  onConnectionError: (error) => log.warn({ err: error }, 'a database connection was lost'),
});
await database.assertSafe(poolSizes(env));
log.info({ pool: env.FAIRLEAD_GATEWAY_POOL }, 'the database is open');
const gateway = await startGateway({
  database,
  store: createFolderLogStore(env.FAIRLEAD_LOG_STORE_DIR, { freeBytesMin: freeBytesMin(env) }),
  artifacts: createFolderArtifactStore(
    env.FAIRLEAD_ARTIFACT_STORE_DIR ?? join(env.FAIRLEAD_LOG_STORE_DIR, 'artifacts'),
    { freeBytesMin: freeBytesMin(env) },
  ),
  signingKeyDir: env.FAIRLEAD_SIGNING_KEY_DIR,
  acme: {
    directoryCaPem: env.FAIRLEAD_ACME_CA_FILE === undefined ? '' : await readFile(env.FAIRLEAD_ACME_CA_FILE, 'utf8'),
    email: env.FAIRLEAD_ACME_EMAIL,
  },
  secretKeys: createSecretKeys(await openMasterKeyFile(env.FAIRLEAD_MASTER_KEY_FILE)),
  internalToken: (await readFile(env.FAIRLEAD_INTERNAL_TOKEN_FILE, 'utf8')).trim(),
  name: `${hostname()}:${env.FAIRLEAD_GATEWAY_PORT}`,
  host: env.FAIRLEAD_GATEWAY_HOST,
  port: env.FAIRLEAD_GATEWAY_PORT,
  controlHosts: controlHosts(env),
  httpsPort: env.FAIRLEAD_HTTPS_PORT,
  httpPort: env.FAIRLEAD_HTTP_PORT,
  trustedProxies: env.FAIRLEAD_TRUSTED_PROXIES,
  log,
});

async function stop(signal: string): Promise<void> {
  log.info({ signal }, 'stopping');
  await gateway.stop();
  await database.close();
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    stop(signal).catch((error: unknown) => {
      log.error({ err: error }, 'the gateway did not stop cleanly');
      process.exitCode = 1;
    });
  });
}
