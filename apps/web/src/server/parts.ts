// Composition root of the web process: settings, database, auth, live source, log. Created on the first request,
// because `next build` loads every route without having any of them.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import 'server-only';
import { type ApiParts, createGithubIdentity, createOpenStreams, createWebhooks, type Webhooks } from '@fairlead/api';
import { createAuth, createSignedCookies } from '@fairlead/auth';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { dashboardFacts, watchAddresses } from '@fairlead/core/dashboard-domain';
import { type Log, systemClock } from '@fairlead/core/kernel';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys, openMasterKeyFile } from '@fairlead/core/secret';
import { createDatabase } from '@fairlead/db';
import { createGithub } from '@fairlead/github';
import { openMailer } from '@fairlead/mail';
import { createAddressGuard, createOutbound } from '@fairlead/outbound';
import { createDnsClient } from '@fairlead/outbound/dns';
import { buildSlots, freeBytesMin, poolSizes } from '@fairlead/settings';
import { pino } from 'pino';
import { agentDownload, agentOffers } from './agent-download.ts';
import { controlPlaneFacts } from './control-plane-facts.ts';
import { trustedOrigins, trustedProxies, type WebEnv } from './env.ts';
import { domainOrigins, publicUrl, setAddresses, webEnv } from './env-of-process.ts';
import { createHealthCheck, type HealthCheck } from './health-check.ts';
import { type AgentBinaries, createAgentBinaries } from './install/agent-binaries.ts';
import { createLiveSource } from './live/live-source.ts';
import { startRateLimit } from './rate-limit.ts';
import { createTemplatePacker } from './template-packer.ts';

export interface WebParts extends ApiParts {
  readonly env: WebEnv;
  readonly binaries: AgentBinaries;
  readonly health: HealthCheck;
  readonly webhooks: Webhooks;
}

// Next may load this module once for pages and once for route handlers; they share one set of parts.
const holder: { fairleadParts?: Promise<WebParts> } = globalThis as object;

export function parts(): Promise<WebParts> {
  holder.fairleadParts ??= createParts().catch((error: unknown) => {
    // A file that was missing at the first request may exist at the next.
    delete holder.fairleadParts;
    throw error;
  });
  return holder.fairleadParts;
}

async function createParts(): Promise<WebParts> {
  const env = webEnv();
  const log = createLog(env.LOG_LEVEL);
  const secret = await readSecret(env.FAIRLEAD_AUTH_SECRET_FILE);
  const secretKeys = createSecretKeys(await openMasterKeyFile(env.FAIRLEAD_MASTER_KEY_FILE));
  const database = createDatabase({
    url: env.DATABASE_URL,
    poolMax: env.FAIRLEAD_WEB_POOL,
    applicationName: 'fairlead-web',
    onConnectionError: (error) => log.warn({ err: error }, 'a database connection broke'),
  });
  try {
    await database.assertSafe(poolSizes(env));
  } catch (error) {
    await database.close();
    throw error;
  }
  const dashboard = dashboardFacts(env);
  setAddresses(await watchAddresses(database, dashboard, log));
  const mail = await openMailer(env);
  const rateLimit = startRateLimit(database, secret, createSignedCookies({ secret, baseUrl: env.FAIRLEAD_PUBLIC_URL }));
  const outbound = createOutbound({ allowed: env.FAIRLEAD_OUTBOUND_ALLOW });
  const github = createGithub({ outbound, now: () => systemClock.now() });
  const binaries = createAgentBinaries(env.FAIRLEAD_AGENT_BINARY, process.arch);
  return {
    env,
    log,
    database,
    binaries,
    clock: systemClock,
    auth: createAuth({
      identity: database,
      secret,
      baseUrl: env.FAIRLEAD_PUBLIC_URL,
      trustedOrigins: trustedOrigins(env),
      domainOrigins,
      linkUrl: publicUrl,
      trustedProxies: trustedProxies(env),
      github: createGithubIdentity({
        database,
        github,
        secretKeys,
        signInAppId: env.FAIRLEAD_GITHUB_SIGN_IN_APP ?? null,
        clock: systemClock,
        log,
      }),
      mail,
      onFailure: (error, what) => log.error({ err: error }, what),
    }),
    live: createLiveSource({
      database,
      gatewayUrl: env.FAIRLEAD_GATEWAY_URL,
      token: () => readSecret(env.FAIRLEAD_INTERNAL_TOKEN_FILE),
      log,
    }),
    logs: createFolderLogStore(env.FAIRLEAD_LOG_STORE_DIR, { freeBytesMin: freeBytesMin(env) }),
    artifacts: createFolderArtifactStore(
      env.FAIRLEAD_ARTIFACT_STORE_DIR ?? join(env.FAIRLEAD_LOG_STORE_DIR, 'artifacts'),
      { freeBytesMin: freeBytesMin(env) },
    ),
    outbound,
    github,
    dns: createDnsClient({ resolvers: [], mayCall: createAddressGuard(env.FAIRLEAD_OUTBOUND_ALLOW) }),
    mail,
    secretKeys,
    rateLimit,
    webhooks: createWebhooks({
      database,
      secretKeys,
      rateLimit,
      trustedProxies: trustedProxies(env),
      clock: systemClock,
      log,
    }),
    streams: createOpenStreams({ database, log }),
    health: createHealthCheck({
      query: () => database.system('answer a health check', (tx) => tx.$queryRaw`SELECT 1`),
      onFailure: (error) => log.warn({ err: error }, 'the health check found no database'),
    }),
    config: {
      get publicUrl() {
        return publicUrl();
      },
      get origins() {
        return [env.FAIRLEAD_PUBLIC_URL, ...domainOrigins()];
      },
      trustedProxies: trustedProxies(env),
      localHttpsPort: env.FAIRLEAD_HTTPS_PORT,
      localHttpPort: env.FAIRLEAD_HTTP_PORT,
      controlHost: env.FAIRLEAD_CONTROL_HOST,
      acmeDirectoryUrl: env.FAIRLEAD_ACME_DIRECTORY_URL,
      publicHost: new URL(env.FAIRLEAD_PUBLIC_URL).hostname,
      agentDownload: () => agentDownload(env, binaries),
      buildSlots: buildSlots(env),
      agentOffers: agentOffers(binaries),
      // The build copies the examples beside the server, at their place in the repository.
      packTemplate: createTemplatePacker(join(process.cwd(), '../../examples')),
      controlPlane: controlPlaneFacts(env, mail !== null),
      dashboard,
    },
  };
}

/** Log of the process: JSON lines on standard output, with the process's name. Invariant: no secrets and no messages. */
function createLog(level: string): Log {
  const log = pino({ level, base: { process: 'web' } });
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
  };
}

/** Reads a secret from its file. Invariant: no error contains the secret. */
async function readSecret(path: string): Promise<string> {
  const secret = (await readFile(path, 'utf8')).trim();
  if (secret === '') throw new Error(`${path} is empty`);
  return secret;
}
