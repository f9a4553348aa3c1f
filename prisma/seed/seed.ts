// The two scenarios as calls, for the command line and for tests that measure: each is loaded whole or not at all.
import { randomBytes } from 'node:crypto';
import { createAuth } from '@fairlead/auth';
import { newId, parseId } from '@fairlead/contract/ids';
import { systemClock } from '@fairlead/core/kernel';
import { createFirstOrganization } from '@fairlead/core/setup';
import { createDatabase, type Database } from '@fairlead/db';
import { analyzeTables, type Loader, loadInSystemScope } from '@fairlead/db/copy';
import { loadDemo } from './demo.ts';
import type { Home } from './fleet.ts';
import { largeDomain, largeSlug, loadLarge } from './large.ts';
import type { Note } from './loading.ts';

/** Error with a remedy for the user: only its message, a sentence, is printed. */
export class SeedError extends Error {
  override readonly name = 'SeedError';
}

export interface Seeded {
  readonly organizationId: string;
  readonly organizationName: string;
}

export interface DemoOptions {
  readonly url: string;
  readonly logStoreDir: string | null;
  readonly note: Note;
}

/** Fills the first organization; if there is none, makes it as the first start would. */
export async function seedDemo({ url, logStoreDir, note }: DemoOptions): Promise<Seeded> {
  return withDatabase(url, async (database) => {
    const { home, name } = await firstHome(database);
    const { organizationId } = home;
    const { isLoaded, isClaimed } = await database.system('seed: is the demo there?', async (tx) => ({
      isLoaded: (await tx.server.count({ where: { organizationId, name: 'fra-1' } })) > 0,
      isClaimed: (await tx.member.count({ where: { organizationId } })) > 0,
    }));
    if (isLoaded) throw new SeedError(`The organization "${name}" has the demo already.`);
    await loadInSystemScope(url, 'seed: demo', (loader) =>
      loadDemo(loader, { home, now: new Date(), logStoreDir, withTeam: isClaimed }, note),
    );
    await analyzeTables(url);
    return { organizationId, organizationName: name };
  });
}

export interface LargeOptions {
  readonly url: string;
  /** Ends the organization of an earlier load first. */
  readonly replace: boolean;
  /** Email of an account that becomes its owner; null makes a new account. */
  readonly owner: string | null;
  readonly note: Note;
}

export interface SeededLarge extends Seeded {
  readonly ownerEmail: string;
  /** Password of the new account; null if the account existed. */
  readonly ownerPassword: string | null;
}

const madeOwnerEmail = `owner@${largeDomain}`;

export async function seedLarge({ url, replace, owner, note }: LargeOptions): Promise<SeededLarge> {
  return withDatabase(url, async (database) => {
    // The oldest organization is the installation's own: it must be there before this one.
    await firstHome(database);
    const ownerId = owner === null ? null : await requireAccount(database, owner);
    const earlier = await database.system('seed: is the large one there?', (tx) =>
      tx.organization.findUnique({ where: { slug: largeSlug }, select: { id: true } }),
    );
    if (earlier !== null && !replace) {
      throw new SeedError(`The organization "${largeSlug}" is there already. Load it anew with --replace.`);
    }
    const organizationId = await loadInSystemScope(url, 'seed: large', async (loader) => {
      if (earlier !== null) await deleteEarlier(loader, earlier.id, note);
      return loadLarge(loader, new Date(), note);
    });
    const password = randomBytes(12).toString('base64url');
    const userId = ownerId ?? (await makeOwner(database, password));
    await database.system('seed: the owner', (tx) =>
      tx.member.create({ data: { id: newId('mem'), organizationId, userId, role: 'owner' } }),
    );
    await analyzeTables(url);
    return {
      organizationId,
      organizationName: 'Large',
      ownerEmail: owner ?? madeOwnerEmail,
      ownerPassword: ownerId === null ? password : null,
    };
  });
}

async function deleteEarlier(loader: Loader, organizationId: string, note: Note): Promise<void> {
  note('deleting the earlier load');
  const sampled = ['app', 'route', 'server'].flatMap((kind) => ['1h', '1m', '1s'].map((step) => `${kind}_${step}`));
  for (const table of [...sampled, 'roll_up_due']) {
    await loader.query(`DELETE FROM metric.${table} WHERE organization_id = $1`, [organizationId]);
  }
  await loader.query(`DELETE FROM "user" WHERE email LIKE $1`, [`%@${largeDomain}`]);
  await loader.query('DELETE FROM organization WHERE id = $1', [organizationId]);
}

async function requireAccount(database: Database, email: string): Promise<string> {
  const user = await database.system('seed: the owner', (tx) =>
    tx.user.findUnique({ where: { email: email.toLowerCase() }, select: { id: true } }),
  );
  if (user === null) throw new SeedError(`There is no account ${email}. Leave --owner out, and one is made.`);
  return user.id;
}

async function makeOwner(database: Database, password: string): Promise<string> {
  // Makes an account only: no cookie is ever signed with this secret.
  const secret = randomBytes(32).toString('hex');
  const auth = createAuth({
    identity: database,
    secret,
    baseUrl: 'http://localhost',
    trustedOrigins: [],
    trustedProxies: [],
    github: null,
    mail: null,
    onFailure: (error) => {
      throw error;
    },
  });
  const { userId } = await auth.createAccount({ name: 'Owner of Large', email: madeOwnerEmail, password });
  return userId;
}

async function firstHome(database: Database): Promise<{ readonly home: Home; readonly name: string }> {
  return database.system('seed: the first organization', async (tx) => {
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const { organizationId } = await createFirstOrganization(
      { tx, clock: systemClock, log },
      { name: 'My organization' },
    );
    const { name } = await tx.organization.findUniqueOrThrow({ where: { id: organizationId }, select: { name: true } });
    const environment = await tx.environment.findFirstOrThrow({
      where: { organizationId: parseId('org', organizationId) },
      orderBy: { createdAt: 'asc' },
      select: { id: true, projectId: true },
    });
    return { home: { organizationId, projectId: environment.projectId, environmentId: environment.id }, name };
  });
}

async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = createDatabase({ url, poolMax: 1, applicationName: 'fairlead-seed' });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
