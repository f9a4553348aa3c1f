import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { MigrationError, migrate } from './migrate.ts';
import { migrationsDir } from './testing.ts';

const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url));
const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** An empty database: not a clone of the migrated template. */
async function emptyDatabase(): Promise<string> {
  const name = `empty_${randomBytes(8).toString('hex')}`;
  const url = new URL(inject('fairleadTemplateUrl'));
  url.pathname = '/postgres';
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  cleanUps.push(async () => {
    // The queue's migrations do not wait until their connections end; cutting one would fail an unrelated test.
    const connected = async () =>
      (await admin.query('SELECT 1 FROM pg_stat_activity WHERE datname = $1', [name])).rowCount;
    await expect.poll(connected).toBe(0);
    await admin.query(`DROP DATABASE ${name}`);
    await admin.end();
  });
  url.pathname = `/${name}`;
  return url.href;
}

async function copyOfMigrations(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-migrations-'));
  cleanUps.push(() => rm(dir, { recursive: true, force: true }));
  await cp(migrationsDir, dir, { recursive: true });
  return dir;
}

async function addMigration(dir: string, name: string, sql: string): Promise<void> {
  await mkdir(join(dir, name));
  await writeFile(join(dir, name, 'migration.sql'), sql);
}

async function query(url: string, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const quietly = (): void => {};

function prisma(url: string, ...args: readonly string[]) {
  const cli = join(repositoryRoot, 'node_modules/prisma/build/index.js');
  return promisify(execFile)(process.execPath, [cli, ...args], {
    cwd: repositoryRoot,
    env: { ...process.env, DATABASE_URL: url, CHECKPOINT_DISABLE: '1' },
  });
}

test('a second run applies nothing', async () => {
  const url = await emptyDatabase();
  const first = await migrate({ url, dir: migrationsDir, log: quietly });
  expect(first.length).toBeGreaterThan(3);
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual([]);
});

test('two concurrent migrations apply each migration once', async () => {
  const url = await emptyDatabase();
  const runs = await Promise.all([1, 2, 3].map(() => migrate({ url, dir: migrationsDir, log: quietly })));
  const applied = runs.filter((names) => names.length > 0);
  expect(applied).toHaveLength(1);
  expect(await query(url, 'SELECT migration_name FROM _prisma_migrations')).toHaveLength(applied[0]?.length ?? 0);
});

test('Prisma finds its books in order, and the tables as the schema says', { timeout: 60_000 }, async () => {
  const url = await emptyDatabase();
  await migrate({ url, dir: migrationsDir, log: quietly });
  const status = await prisma(url, 'migrate', 'status');
  expect(status.stdout).toContain('Database schema is up to date');
  // --exit-code: 0 is no difference, 2 is drift, which rejects.
  const drift = ['migrate', 'diff', '--from-config-datasource', '--to-schema', 'prisma/schema', '--exit-code'];
  await prisma(url, ...drift);
  await query(url, 'ALTER TABLE app ADD COLUMN stray text');
  await expect(prisma(url, ...drift)).rejects.toMatchObject({ code: 2 });
});

test('a migration that was edited after it was applied stops the start', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  await addMigration(dir, '29990101000000_more', 'CREATE TABLE more (id text)');
  await migrate({ url, dir, log: quietly });
  await writeFile(join(dir, '29990101000000_more', 'migration.sql'), 'CREATE TABLE less (id text)');
  const again = migrate({ url, dir, log: quietly });
  await expect(again).rejects.toMatchObject({ code: 'edited', migration: '29990101000000_more' });
});

test('a failed migration is rolled back, and later starts report it', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  await addMigration(dir, '29990101000000_bad', 'CREATE TABLE half (id text); SELECT 1 / 0;');
  await expect(migrate({ url, dir, log: quietly })).rejects.toThrow('division by zero');
  expect(await query(url, `SELECT to_regclass('public.half') AS half`)).toEqual([{ half: null }]);
  await expect(migrate({ url, dir, log: quietly })).rejects.toBeInstanceOf(MigrationError);
  await expect(migrate({ url, dir, log: quietly })).rejects.toMatchObject({ code: 'failed_before' });
});

test('the version before starts on the schema of a newer one', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  await addMigration(dir, '29990101000000_newer', 'CREATE TABLE newer (id text)');
  await migrate({ url, dir, log: quietly });
  const lines: string[] = [];
  expect(await migrate({ url, dir: migrationsDir, log: (line) => lines.push(line) })).toEqual([]);
  expect(lines).toEqual(['the database has the newer migration 29990101000000_newer']);
});

test('stored settings lose old traffic defaults that were not chosen and keep chosen values', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  const name = '20261123093000_adaptive_concurrency';
  await rm(join(dir, name), { recursive: true });
  await migrate({ url, dir, log: quietly });
  const traffic = { connectionsPerInstance: 64, queueTimeoutMs: 10_000, shedLoad: true, queueMax: 5 };
  const stored = [traffic, { ...traffic, connectionsPerInstance: 8 }, { ...traffic, shedLoad: false }];
  await insertConfigs(
    url,
    stored.map((each) => ({ traffic: each })),
  );
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual([name]);
  expect(await storedSettings(url)).toEqual([
    { traffic: { queueMax: 5 } },
    { traffic: stored[1] },
    { traffic: stored[2] },
  ]);
});

test('stored traffic settings keep their values under the new names', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  const name = '20261125130000_traffic_names';
  await rm(join(dir, name), { recursive: true });
  await migrate({ url, dir, log: quietly });
  const traffic = {
    protocol: 'http2',
    balance: 'least_in_flight',
    sticky: { kind: 'client' },
    slowStartMs: 5,
    inFlightMax: 1,
    queueMax: 2,
    shedLoad: true,
    retryPercentMax: 3,
    ejection: { failures: 4, periodMs: 500, percentMax: 6 },
    probe: { path: '/up', healthyAfter: 7, unhealthyAfter: 8 },
  };
  const plain = { balance: 'round_robin', sticky: { kind: 'cookie', name: 'c' }, probe: null };
  await insertConfigs(url, [{ traffic }, { traffic: plain }, { builder: 'auto' }]);
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual([name]);
  expect(await storedSettings(url)).toEqual([
    {
      traffic: {
        upstreamProtocol: 'http2',
        loadBalancing: 'least_loaded',
        stickySessions: { kind: 'client_address' },
        slowStartMs: 5,
        inFlightPerApp: 1,
        queueLengthMax: 2,
        loadShedding: true,
        retryBudgetPercent: 3,
        outlierEjection: { consecutiveFailures: 4, ejectionTimeMs: 500, ejectedPercentMax: 6 },
        healthCheck: { path: '/up', healthyThreshold: 7, unhealthyThreshold: 8 },
      },
    },
    { traffic: { loadBalancing: 'round_robin', stickySessions: { kind: 'cookie', name: 'c' }, healthCheck: null } },
    { builder: 'auto' },
  ]);
});

test('stored settings keep their values under the new names', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  const name = '20261125133000_setting_names';
  await rm(join(dir, name), { recursive: true });
  await migrate({ url, dir, log: quietly });
  const canary = { percents: [5], holdMs: 1, errorsPermilleMax: 2, p99PermilleMax: 3, requestsMin: 4 };
  await insertConfigs(url, [
    {
      health: { kind: 'http', path: '/up' },
      healthTimeoutMs: 1,
      liveness: null,
      scale: { instancesMin: 0 },
      afterCommand: { command: ['warm-up'], timeoutMs: 2 },
      stopGraceMs: 3,
      keepReleases: 4,
      rollout: { kind: 'all' },
      image: 'shop:2',
    },
    { rollout: { kind: 'batch', size: 2 } },
    { rollout: { kind: 'canary', ...canary } },
    {},
  ]);
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual([name]);
  expect(await storedSettings(url)).toEqual([
    {
      readinessCheck: { kind: 'http', path: '/up' },
      startTimeoutMs: 1,
      livenessCheck: null,
      autoscaling: { instancesMin: 0 },
      postReleaseCommand: { command: ['warm-up'], timeoutMs: 2 },
      stopTimeoutMs: 3,
      releasesKept: 4,
      rollout: { kind: 'blue_green' },
      image: 'shop:2',
    },
    { rollout: { kind: 'rolling', batchSize: 2 } },
    {
      rollout: {
        kind: 'canary',
        stepPercents: [5],
        stepDurationMs: 1,
        errorIncreasePermilleMax: 2,
        p99RatioPermilleMax: 3,
        requestsMin: 4,
      },
    },
    {},
  ]);
});

test('stored policies keep their limits under the new names', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  const name = '20261125140000_policy_names';
  await rm(join(dir, name), { recursive: true });
  await migrate({ url, dir, log: quietly });
  const limits = { clientBurst: 1, clientConcurrent: 2, burst: 3, concurrent: 4 };
  const rows = [{ limits, compress: true }, {}].map(
    (each, at) => `('${at}', 'o', 'a', 'e', '${at}', '${JSON.stringify(each)}')`,
  );
  await dropForeignKeys(url, ['domain']);
  await query(
    url,
    `SET ROLE fairlead_system;
     INSERT INTO domain (id, organization_id, app_id, environment_id, host, policy) VALUES ${rows.join(', ')}`,
  );
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual([name]);
  await query(url, 'ALTER TABLE domain NO FORCE ROW LEVEL SECURITY');
  expect(await query(url, 'SELECT policy FROM domain ORDER BY host')).toEqual([
    { policy: { limits: { clientBurst: 1, clientInFlight: 2, burst: 3, inFlight: 4 }, compress: true } },
    { policy: {} },
  ]);
});

test('stored states and plans keep their values under the new names', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  const name = '20261125143000_state_names';
  await rm(join(dir, name), { recursive: true });
  await migrate({ url, dir, log: quietly });
  const plans = [{ expectedNames: ['A'], sentences: ['Found a Node app.'] }, {}];
  const releases = plans.map(
    (plan, at) =>
      `('${at}', 'o', 'a', 'e', ${at}, '', '', '', now(), '', 0, 's', '', '{}', '', '${JSON.stringify(plan)}')`,
  );
  await dropForeignKeys(url, ['instance', 'release']);
  await query(
    url,
    `SET ROLE fairlead_system;
     INSERT INTO instance (id, organization_id, app_id, environment_id, server_id, release_id, state, reported_at)
       VALUES ('1', 'o', 'a', 'e', 's', 'r', 'given_up', now()), ('2', 'o', 'a', 'e', 's', 'r', 'healthy', now());
     INSERT INTO release (id, organization_id, app_id, environment_id, number, commit_hash, commit_subject, commit_author,
         committed_at, artifact_digest, artifact_size_bytes, built_on_server_id, runtime, command, health_path, plan)
       VALUES ${releases.join(', ')}`,
  );
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual([name]);
  await query(url, 'ALTER TABLE instance NO FORCE ROW LEVEL SECURITY; ALTER TABLE release NO FORCE ROW LEVEL SECURITY');
  expect(await query(url, 'SELECT state FROM instance ORDER BY id')).toEqual([
    { state: 'crash_looping' },
    { state: 'healthy' },
  ]);
  expect(await query(url, 'SELECT plan FROM release ORDER BY number')).toEqual([
    { plan: { expectedVariables: ['A'], sentences: ['Found a Node app.'] } },
    { plan: {} },
  ]);
});

test('stored deployments get their requester from the member, the approval or the audit log, and their trigger', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  const name = '20261125234500_deployment_requester';
  await rm(join(dir, name), { recursive: true });
  await migrate({ url, dir, log: quietly });
  await dropForeignKeys(url, ['deployment', 'deployment_approval', 'api_token', 'audit_event', 'audit_link']);
  const deployments = [
    ['member', 'manual', "'ada'"],
    ['own_token', 'manual', "'ada'"],
    ['machine', 'manual', 'NULL'],
    ['machine_back', 'rollback', 'NULL'],
    ['cancelled', 'manual', 'NULL'],
    ['approved', 'manual', 'NULL'],
    ['old_token', 'upload', 'NULL'],
    ['system', 'manual', 'NULL'],
    ['seed', 'push', 'NULL'],
  ].map(([id, trigger, actor], at) => `('${id}', 'o', 'a${at}', 'e', 1, '${trigger}', 'live', 'main', ${actor})`);
  const events = [
    ['member', 1, 'member', 'ada', 'create'],
    ['own_token', 1, 'token', 'of_ada', 'create'],
    ['machine', 1, 'token', 'of_ci', 'create'],
    ['machine_back', 1, 'token', 'of_ci', 'rollback'],
    // A machine that cancels or decides is no requester; nor is the token of another organization.
    ['cancelled', 1, 'system', 'npm start', 'create'],
    ['cancelled', 2, 'token', 'of_ci', 'cancel'],
    ['approved', 1, 'token', 'deleted', 'create'],
    ['old_token', 1, 'token', 'without_maker', 'create'],
    ['system', 1, 'system', 'npm start', 'create'],
    ['seed', 1, 'token', 'foreign', 'create'],
  ].map(
    ([target, second, kind, actor, action], at) =>
      `('${at}', 'o', '2026-11-20T12:00:0${second}Z', '${kind}', '${actor}', 'deployment.${action}', 'deployment', '${target}', '')`,
  );
  const tokens = [
    ['of_ada', 'o', "'ada'", 'NULL', "'ada'"],
    ['of_ci', 'o', 'NULL', "'ci'", "'bob'"],
    ['without_maker', 'o', 'NULL', "'ci'", 'NULL'],
    ['foreign', 'other', 'NULL', "'ci'", "'eve'"],
  ].map(
    ([id, organization, user, account, maker]) =>
      `('${id}', '${organization}', '', '${id}', '', ${user}, ${account}, ${maker}, now())`,
  );
  await query(
    url,
    `SET ROLE fairlead_system;
     INSERT INTO deployment (id, organization_id, app_id, environment_id, number, trigger, state, ref, actor_user_id)
       VALUES ${deployments.join(', ')};
     INSERT INTO deployment_approval (id, organization_id, deployment_id, state, requested_by_user_id)
       VALUES ('1', 'o', 'approved', 'approved', 'bob'), ('2', 'o', 'old_token', 'pending', NULL);
     INSERT INTO api_token (id, organization_id, name, hash, hint, user_id, service_account_id, created_by_user_id, expires_at)
       VALUES ${tokens.join(', ')};
     INSERT INTO audit_event (id, organization_id, at, actor_kind, actor_id, action, target_kind, target_id, target_label)
       VALUES ${events.join(', ')}`,
  );
  const [applied] = await migrate({ url, dir: migrationsDir, log: quietly });
  expect(applied).toBe(name);
  await query(url, 'ALTER TABLE deployment NO FORCE ROW LEVEL SECURITY');
  const rows = await query(url, 'SELECT id, requested_by_user_id AS by, trigger FROM deployment ORDER BY app_id');
  expect(rows).toEqual([
    { id: 'member', by: 'ada', trigger: 'manual' },
    { id: 'own_token', by: 'ada', trigger: 'api' },
    { id: 'machine', by: 'bob', trigger: 'api' },
    { id: 'machine_back', by: 'bob', trigger: 'rollback' },
    { id: 'cancelled', by: null, trigger: 'system' },
    { id: 'approved', by: 'bob', trigger: 'api' },
    { id: 'old_token', by: null, trigger: 'upload' },
    { id: 'system', by: null, trigger: 'system' },
    { id: 'seed', by: null, trigger: 'push' },
  ]);
});

test('people and machines with the role for billing can read what they could, and its permission is gone', async () => {
  const [url, dir] = [await emptyDatabase(), await copyOfMigrations()];
  const name = '20261126001000_no_billing_role';
  await rm(join(dir, name), { recursive: true });
  await migrate({ url, dir, log: quietly });
  await dropForeignKeys(url, ['member', 'role_grant', 'invitation', 'service_account', 'custom_role', 'api_token']);
  await query(
    url,
    `SET ROLE fairlead_system;
     INSERT INTO member (id, organization_id, user_id, role) VALUES ('1', 'o', 'ada', 'billing'), ('2', 'o', 'bob', 'admin');
     INSERT INTO service_account (id, organization_id, name, role) VALUES ('1', 'o', 'ci', 'billing');
     INSERT INTO invitation (id, organization_id, token_hash, role, expires_at, renewed_at)
       VALUES ('1', 'o', '', 'billing', now(), now());
     INSERT INTO role_grant (id, organization_id, member_id, role, project_id) VALUES ('1', 'o', '1', 'viewer', 'p'),
       ('2', 'o', '1', 'billing', 'p'), ('3', 'o', '1', 'billing', NULL), ('4', 'o', '2', 'billing', 'p');
     INSERT INTO custom_role (id, organization_id, name, permissions)
       VALUES ('1', 'o', 'Some', '{app.read,billing.read,log.read}'), ('2', 'o', 'Other', '{app.read}');
     INSERT INTO api_token (id, organization_id, name, hash, hint, user_id, permissions, expires_at)
       VALUES ('1', 'o', '', '1', '', 'ada', '{billing.read,app.read}', now())`,
  );
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual([name]);
  const tables = ['member', 'service_account', 'invitation', 'role_grant', 'custom_role', 'api_token'];
  await query(url, tables.map((table) => `ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY`).join('; '));
  expect(await query(url, 'SELECT role FROM member ORDER BY id')).toEqual([{ role: 'viewer' }, { role: 'admin' }]);
  expect(await query(url, 'SELECT role FROM service_account')).toEqual([{ role: 'viewer' }]);
  expect(await query(url, 'SELECT role FROM invitation')).toEqual([{ role: 'viewer' }]);
  // A grant that its member already had as a viewer is not kept twice.
  expect(await query(url, 'SELECT id, role FROM role_grant ORDER BY id')).toEqual([
    { id: '1', role: 'viewer' },
    { id: '3', role: 'viewer' },
    { id: '4', role: 'viewer' },
  ]);
  expect(await query(url, 'SELECT permissions FROM custom_role ORDER BY id')).toEqual([
    { permissions: ['app.read', 'log.read'] },
    { permissions: ['app.read'] },
  ]);
  expect(await query(url, 'SELECT permissions FROM api_token')).toEqual([{ permissions: ['app.read'] }]);
});

test('the placement migration keeps apps and the order of their servers, and so does its rollback', async () => {
  const [url, dir, last] = [await emptyDatabase(), await copyOfMigrations(), await copyOfMigrations()];
  const names = [
    '20261126040000_placement_server',
    '20261126040100_placement_server_rows',
    '20261126040200_placement_columns',
    '20261126070000_app_deletion',
    '20261126134500_volume_snapshot',
  ];
  // Later migrations build upon what the rollback takes away.
  const later = (await readdir(last)).filter(
    (name) => name > '20261126134500_volume_snapshot' && name !== 'migration_lock.toml',
  );
  for (const name of later) for (const folder of [dir, last]) await rm(join(folder, name), { recursive: true });
  for (const name of names) await rm(join(dir, name), { recursive: true });
  await migrate({ url, dir, log: quietly });
  await query(
    url,
    `SET ROLE fairlead_system;
     INSERT INTO organization (id, name, slug) VALUES ('o', 'o', 'o');
     INSERT INTO project (id, organization_id, name, slug) VALUES ('p', 'o', 'p', 'p');
     INSERT INTO environment (id, organization_id, project_id, name, slug)
       VALUES ('live', 'o', 'p', 'live', 'live'), ('next', 'o', 'p', 'next', 'next'), ('left', 'o', 'p', 'left', 'left');
     INSERT INTO app (id, organization_id, project_id, name, slug, repository_url, updated_at)
       VALUES ('shop', 'o', 'p', 'Shop', 'shop', '', now()), ('blog', 'o', 'p', 'Blog', 'blog', '', now());
     INSERT INTO server (id, organization_id, name, public_key)
       VALUES ('one', 'o', 'one', ''), ('two', 'o', 'two', '2'), ('three', 'o', 'three', '3');
     INSERT INTO release (id, organization_id, app_id, environment_id, number, commit_hash, commit_subject, commit_author,
         committed_at, artifact_digest, artifact_size_bytes, built_on_server_id, runtime, command, health_path)
       VALUES ('r', 'o', 'shop', 'live', 1, '', '', '', now(), '', 0, 'one', '', '{}', '');
     INSERT INTO placement (id, organization_id, app_id, environment_id, server_id, branch, instances, live_release_id,
         secrets_problem, created_at)
       VALUES ('a', 'o', 'shop', 'live', 'two', 'main', 3, 'r', NULL, '2026-11-20T12:00:01Z'),
         ('c', 'o', 'shop', 'live', 'one', 'main', 3, NULL, 'no_room', '2026-11-20T12:00:02Z'),
         ('b', 'o', 'shop', 'live', 'three', 'main', 3, NULL, NULL, '2026-11-20T12:00:02Z'),
         ('d', 'o', 'shop', 'next', 'one', 'next', 1, NULL, NULL, '2026-11-20T12:00:03Z'),
         ('e', 'o', 'blog', 'next', 'one', 'main', 1, NULL, NULL, '2026-11-20T12:00:00Z');
     INSERT INTO app_config (id, organization_id, app_id, environment_id, number, settings)
       VALUES ('1', 'o', 'shop', 'live', 1, '{}'), ('2', 'o', 'blog', 'left', 1, '{}')`,
  );
  expect(await migrate({ url, dir: last, log: quietly })).toEqual(names);
  const forced =
    'ALTER TABLE placement NO FORCE ROW LEVEL SECURITY; ALTER TABLE placement_server NO FORCE ROW LEVEL SECURITY';
  await query(url, forced);
  const placements = () =>
    query(
      url,
      `SELECT app_id AS app, environment_id AS environment, branch, instances, is_primary AS primary,
         ARRAY(SELECT concat_ws(' ', server_id, live_release_id, secrets_problem) FROM placement_server
               WHERE placement_id = placement.id ORDER BY position) AS servers
       FROM placement ORDER BY app_id DESC, environment_id`,
    );
  const migrated = [
    {
      app: 'shop',
      environment: 'live',
      branch: 'main',
      instances: 3,
      primary: true,
      servers: ['two r', 'three', 'one no_room'],
    },
    { app: 'shop', environment: 'next', branch: 'next', instances: 1, primary: false, servers: ['one'] },
    { app: 'blog', environment: 'left', branch: 'main', instances: 1, primary: false, servers: [] },
    { app: 'blog', environment: 'next', branch: 'main', instances: 1, primary: true, servers: ['one'] },
  ];
  expect(await placements()).toEqual(migrated);
  await query(url, forced.replaceAll('NO FORCE', 'FORCE'));
  for (const name of [
    '20261126134500_volume_snapshot',
    '20261126070000_app_deletion',
    '20261126040000_placement_server',
  ])
    await query(url, await readFile(join(migrationsDir, `../rollback/${name}.sql`), 'utf8'));
  await query(url, 'ALTER TABLE placement NO FORCE ROW LEVEL SECURITY');
  expect(
    await query(
      url,
      `SELECT app_id AS app, environment_id AS environment, branch, instances,
         concat_ws(' ', server_id, live_release_id, secrets_problem) AS server
       FROM placement ORDER BY app_id DESC, created_at`,
    ),
  ).toEqual([
    { app: 'shop', environment: 'live', branch: 'main', instances: 3, server: 'two r' },
    { app: 'shop', environment: 'live', branch: 'main', instances: 3, server: 'three' },
    { app: 'shop', environment: 'live', branch: 'main', instances: 3, server: 'one no_room' },
    { app: 'shop', environment: 'next', branch: 'next', instances: 1, server: 'one' },
    { app: 'blog', environment: 'next', branch: 'main', instances: 1, server: 'one' },
  ]);
  expect(await migrate({ url, dir: last, log: quietly })).toEqual(names);
  await query(url, forced);
  expect(await placements()).toEqual(migrated);
});

test('a rollback of deleted apps brings them back as a new version of their servers', async () => {
  const url = await emptyDatabase();
  const names = ['20261126070000_app_deletion', '20261126134500_volume_snapshot'];
  await migrate({ url, dir: migrationsDir, log: quietly });
  await query(
    url,
    `SET ROLE fairlead_system;
     INSERT INTO organization (id, name, slug) VALUES ('o', 'o', 'o');
     INSERT INTO project (id, organization_id, name, slug) VALUES ('p', 'o', 'p', 'p');
     INSERT INTO environment (id, organization_id, project_id, name, slug) VALUES ('e', 'o', 'p', 'e', 'e');
     INSERT INTO app (id, organization_id, project_id, name, slug, repository_url, updated_at)
       VALUES ('gone', 'o', 'p', 'Gone', 'gone', '', now()), ('kept', 'o', 'p', 'Kept', 'kept', '', now());
     INSERT INTO server (id, organization_id, name, public_key) VALUES ('one', 'o', 'one', ''), ('two', 'o', 'two', '2');
     INSERT INTO placement (id, organization_id, app_id, environment_id, branch)
       VALUES ('a', 'o', 'gone', 'e', 'main'), ('b', 'o', 'kept', 'e', 'main');
     INSERT INTO placement_server (placement_id, organization_id, server_id, position)
       VALUES ('a', 'o', 'one', 0), ('b', 'o', 'two', 0);
     INSERT INTO app_deletion (app_id, organization_id, placement_ids, deleted_at, purge_at)
       VALUES ('gone', 'o', '{a}', now(), now())`,
  );
  for (const name of names.toReversed()) {
    await query(url, await readFile(join(migrationsDir, `../rollback/${name}.sql`), 'utf8'));
  }
  await query(url, 'ALTER TABLE server NO FORCE ROW LEVEL SECURITY');
  expect(await query(url, 'SELECT id, desired_number::int AS number FROM server ORDER BY id')).toEqual([
    { id: 'one', number: 2 },
    { id: 'two', number: 1 },
  ]);
  expect(await query(url, `SELECT count(*)::int AS left FROM pg_policy WHERE polname = 'deleted_apps'`)).toEqual([
    { left: 0 },
  ]);
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual(names);
});

test('the migrations of rollouts and drains are taken back by their scripts, and applied again', async () => {
  const url = await emptyDatabase();
  await migrate({ url, dir: migrationsDir, log: quietly });
  const names = ['20261126071500_agent_rollout', '20261126075000_server_drain', '20261126112000_agent_rollout_skipped'];
  for (const name of names.toReversed()) {
    await query(url, await readFile(join(migrationsDir, `../rollback/${name}.sql`), 'utf8'));
  }
  const left = `SELECT table_name, column_name FROM information_schema.columns
    WHERE table_name LIKE 'agent_rollout%' OR column_name LIKE 'drained%'`;
  expect(await query(url, left)).toEqual([]);
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual(names);
});

test('the migration of locale and time zone is taken back by its script, and applied again', async () => {
  const url = await emptyDatabase();
  await migrate({ url, dir: migrationsDir, log: quietly });
  const name = '20261128203000_account_region';
  await query(url, await readFile(join(migrationsDir, `../rollback/${name}.sql`), 'utf8'));
  const left = `SELECT column_name FROM information_schema.columns
    WHERE table_name = 'user' AND column_name IN ('locale', 'time_zone')`;
  expect(await query(url, left)).toEqual([]);
  expect(await migrate({ url, dir: migrationsDir, log: quietly })).toEqual([name]);
});

/** Drops the foreign keys of tables, so that their rows need no rows of other tables. */
async function dropForeignKeys(url: string, tables: readonly string[]): Promise<void> {
  const names = tables.map((table) => `'${table}'::regclass`).join(', ');
  await query(
    url,
    `DO $$ DECLARE key record; BEGIN
       FOR key IN SELECT conrelid::regclass AS owner, conname FROM pg_constraint
         WHERE contype = 'f' AND conrelid IN (${names})
       LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', key.owner, key.conname); END LOOP;
     END $$`,
  );
}

/** Inserts versions of settings. Drops the foreign keys, so that the rows need no app and no environment. */
async function insertConfigs(url: string, settings: readonly object[]): Promise<void> {
  const rows = settings.map((each, at) => `('${at}', 'o', 'a', 'e', ${at}, '${JSON.stringify(each)}')`);
  await dropForeignKeys(url, ['app_config']);
  await query(
    url,
    `SET ROLE fairlead_system;
     INSERT INTO app_config (id, organization_id, app_id, environment_id, number, settings) VALUES ${rows.join(', ')}`,
  );
}

async function storedSettings(url: string): Promise<unknown[]> {
  await query(url, 'ALTER TABLE app_config NO FORCE ROW LEVEL SECURITY');
  const rows = await query(url, 'SELECT settings FROM app_config ORDER BY number');
  return rows.map((row) => (row as { settings: unknown }).settings);
}
