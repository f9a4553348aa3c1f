// Product operations of `npm start` and the system tests, each a core verb in its own transaction: first organization,
// enrolments, sample app, deployments and benchmarks. Never accesses a table itself.
import type { OrganizationId } from '@fairlead/contract/ids';
import {
  createApp,
  createAppInputSchema,
  deleteApp,
  getApp,
  listApps,
  purgeApp,
  restoreApp,
  updateApp,
  updateConfig,
} from '@fairlead/core/app';
import { createBenchmark, getBenchmark, listBenchmarks } from '@fairlead/core/benchmark';
import { findServedLeaf, listCertificates, retryCertificate } from '@fairlead/core/certificate';
import {
  cancelDeployment,
  createDeployment,
  getDeployment,
  listDeployments,
  restartApp,
  rollbackApp,
} from '@fairlead/core/deployment';
import { attachDomain, type HostPolicy, updateBaseDomain, updateDomainPolicy } from '@fairlead/core/domain';
import { getHost } from '@fairlead/core/host';
import { type Ctx, type Log, type SystemCtx, systemClock } from '@fairlead/core/kernel';
import { readLog } from '@fairlead/core/log';
import { attachServer, scaleApp } from '@fairlead/core/placement';
import { listReleases } from '@fairlead/core/release';
import { createSecretKeys, listSecrets } from '@fairlead/core/secret';
import { createEnrolment, listServers, updateAddresses, updateProxy } from '@fairlead/core/server';
import { createFirstOrganization, rotateSetupToken } from '@fairlead/core/setup';
import { createDatabase, type Database } from '@fairlead/db';
import type { PoolSizes } from '@fairlead/settings';
import type { z } from 'zod';

/** Verbs inside the organization; their `ctx` is filled in. */
const VERBS = {
  attachDomain,
  findServedLeaf,
  listCertificates,
  retryCertificate,
  attachServer,
  createApp: createAppWithoutSecrets,
  deleteApp,
  getApp,
  listApps,
  purgeApp,
  restoreApp,
  scaleApp,
  updateApp,
  updateConfig,
  createBenchmark,
  getBenchmark,
  listBenchmarks,
  cancelDeployment,
  createDeployment,
  getDeployment,
  listDeployments,
  restartApp,
  rollbackApp,
  listReleases,
  listSecrets,
  readLog,
  createEnrolment,
  listServers,
  getHost,
  updateAddresses,
  updateBaseDomain,
  updateDomainPolicy,
  updateProxy,
};

type Rest<V> = V extends (ctx: Ctx, ...rest: infer R) => unknown ? R : never;
type Answer<V> = V extends (...all: never[]) => infer A ? A : never;
export type Verbs = {
  readonly [N in keyof typeof VERBS]: (...rest: Rest<(typeof VERBS)[N]>) => Answer<(typeof VERBS)[N]>;
};

export interface Product {
  readonly database: Database;
  readonly organizationId: OrganizationId;
  readonly verbs: Verbs;
  /** Returns a fresh one-time token; null once the organization has an owner. */
  rotateSetupToken(): Promise<string | null>;
  close(): Promise<void>;
}

export interface ProductOptions {
  readonly databaseUrl: string;
  readonly organizationName: string;
  /** Pools of the processes on the same database. Default: their default sizes. */
  readonly pools?: PoolSizes;
  readonly log: Log;
}

const POOL_MAX = 3;

/** Rejects a database role that bypasses row-level security, then opens the first organization. */
export async function openProduct({ databaseUrl, organizationName, pools, log }: ProductOptions): Promise<Product> {
  const database = createDatabase({ url: databaseUrl, poolMax: POOL_MAX, applicationName: 'fairlead-start' });
  const inSystem = <T>(work: (ctx: SystemCtx) => Promise<T>) =>
    database.system('first start', (tx) => work({ tx, clock: systemClock, log }));
  try {
    await database.assertSafe(pools);
    const { organizationId } = await inSystem((ctx) => createFirstOrganization(ctx, { name: organizationName }));
    return {
      database,
      organizationId,
      verbs: bindVerbs(database, organizationId, log),
      rotateSetupToken: () => inSystem((ctx) => rotateSetupToken(ctx, { organizationId })),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Refuses secrets and credentials, because this process has no master key. */
const noKey = () => Promise.reject(new TypeError('this process has no master key'));
const noKeys = createSecretKeys({ keyId: noKey, wrap: noKey, unwrap: noKey });

/** Stands in for the real address while the schema checks the rest. */
const acceptedRepository = 'https://repository.invalid/app.git';

/**
 * Creates an app from the API's input, with its defaults. Does not check the address of a repository: `npm start` and the
 * system tests use plain http within their own network.
 */
function createAppWithoutSecrets(ctx: Ctx, input: z.input<typeof createAppInputSchema>, hosts: HostPolicy) {
  const { source } = input;
  if (source.kind !== 'git') return createApp(ctx, createAppInputSchema.parse(input), { hosts, keys: noKeys });
  const checked = createAppInputSchema.parse({ ...input, source: { ...source, repositoryUrl: acceptedRepository } });
  const app = { ...checked, source: { ...checked.source, repositoryUrl: source.repositoryUrl } };
  return createApp(ctx, app as typeof checked, { hosts, keys: noKeys });
}

function bindVerbs(database: Database, organizationId: OrganizationId, log: Log): Verbs {
  const actor = { kind: 'system', reason: 'npm start' } as const;
  const bound = Object.entries(VERBS).map(([name, verb]) => {
    const call = verb as (ctx: Ctx, ...rest: unknown[]) => Promise<unknown>;
    const run = (...rest: unknown[]) =>
      database.tenant(organizationId, (tx) => call({ tx, organizationId, actor, clock: systemClock, log }, ...rest));
    return [name, run];
  });
  return Object.fromEntries(bound) as Verbs;
}
