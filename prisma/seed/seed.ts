// The two scenarios as calls, for the command line and for tests that measure: each is loaded whole or not at all.
import { parseId } from '@fairlead/contract/ids';
import { systemClock } from '@fairlead/core/kernel';
import { createFirstOrganization } from '@fairlead/core/setup';
import { createDatabase, type Database } from '@fairlead/db';
import { analyzeTables, loadInSystemScope } from '@fairlead/db/copy';
import { loadDemo } from './demo.ts';
import type { Home } from './fleet.ts';
import { largeSlug, loadLarge } from './large.ts';
import type { Note } from './loading.ts';
import { SeedError } from './seed-error.ts';

export interface Seeded {
  readonly organizationId: string;
  readonly organizationName: string;
}

export interface DemoOptions {
  readonly url: string;
  readonly logStoreDir: string | null;
  readonly note: Note;
}

/** Fills the first organization, and makes it when there is none, as the first start would. */
export async function seedDemo({ url, logStoreDir, note }: DemoOptions): Promise<Seeded> {
  return withDatabase(url, async (database) => {
    const { home, name } = await firstHome(database);
    const taken = await database.system('seed: is the demo there?', (tx) =>
      tx.server.count({ where: { organizationId: home.organizationId, name: 'fra-1' } }),
    );
    if (taken > 0) throw new SeedError(`The organization "${name}" has the demo already.`);
    await loadInSystemScope(url, 'seed: demo', (loader) =>
      loadDemo(loader, { home, now: new Date(), logStoreDir }, note),
    );
    await analyzeTables(url);
    return { organizationId: home.organizationId, organizationName: name };
  });
}

export interface LargeOptions {
  readonly url: string;
  /** Ends the organization of an earlier load first. */
  readonly replace: boolean;
  readonly note: Note;
}

export async function seedLarge({ url, replace, note }: LargeOptions): Promise<Seeded> {
  return withDatabase(url, async (database) => {
    // The oldest organization is the installation's own: it must be there before this one.
    await firstHome(database);
    const earlier = await database.system('seed: is the large one there?', (tx) =>
      tx.organization.findUnique({ where: { slug: largeSlug }, select: { id: true } }),
    );
    if (earlier !== null && !replace) {
      throw new SeedError(`The organization "${largeSlug}" is there already. Load it anew with --replace.`);
    }
    const organizationId = await loadInSystemScope(url, 'seed: large', async (loader) => {
      if (earlier !== null) {
        note('deleting the earlier load');
        for (const table of ['app_1h', 'app_1m', 'app_1s', 'server_1h', 'server_1m', 'server_1s', 'roll_up_due']) {
          await loader.query(`DELETE FROM metric.${table} WHERE organization_id = $1`, [earlier.id]);
        }
        await loader.query(
          `DELETE FROM "user" WHERE email LIKE '%@large.example.test' AND id IN
             (SELECT user_id FROM member WHERE organization_id = $1)`,
          [earlier.id],
        );
        await loader.query('DELETE FROM organization WHERE id = $1', [earlier.id]);
      }
      return loadLarge(loader, new Date(), note);
    });
    await analyzeTables(url);
    return { organizationId, organizationName: 'Large' };
  });
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
