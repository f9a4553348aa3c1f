// Stage of the matrix: two organizations with a row in every table, and people of every role. All texts of the foreign
// rows are marked.
// Invariant: it needs no list of tables; it reads them from the catalogue.

import { randomBytes } from 'node:crypto';
import type { Capability } from '@fairlead/contract/capabilities';
import { newId, parseId } from '@fairlead/contract/ids';
import { type Permission, roleSchema } from '@fairlead/core/role';
import { rotateDataKey, updateSecrets } from '@fairlead/core/secret';
import { insertOrganizationRows, type OrganizationRows } from '@fairlead/db/testing/rows';
import type { TestApi } from '../test-api.ts';

export interface Person {
  readonly name: string;
  readonly cookie: string | undefined;
  /** Organization of the requests. */
  readonly slug: string;
}

export interface Stage {
  readonly ownId: string;
  readonly foreignId: string;
  /** In every text of every foreign row. */
  readonly marker: string;
  /** Kind of id → an id of that kind. */
  readonly own: ReadonlyMap<string, string>;
  readonly foreign: ReadonlyMap<string, string>;
  /** Ids of our rows that lie in the project and environment of `setGrant`. */
  readonly placed: readonly string[];
  /** Traces of the foreign rows: the marker and each of their ids. */
  readonly foreignTraces: readonly string[];
  readonly nobody: Person;
  readonly stranger: Person;
  /** Owner of the foreign organization, who sends requests to ours. */
  readonly foreignOwner: Person;
  /** A member for each built-in role. */
  readonly roles: readonly (Person & { readonly role: (typeof roleSchema.options)[number] })[];
  /** Member with a single role, which is replaced for each procedure. */
  readonly custom: Person;
  setCustom(permissions: readonly Permission[]): Promise<void>;
  /** A member with a role without permissions, and with a grant of these in one scope. */
  readonly granted: Person;
  setGrant(permissions: readonly Permission[], place: 'project' | 'environment' | 'elsewhere'): Promise<void>;
  /** An account of its own, for calls that may end sessions or the account itself. */
  throwaway(): Promise<Person>;
  /** Changes when any foreign row does. */
  foreignFingerprint(): Promise<string>;
}

/** Text that may hold anything: a marker in it breaks no rule of the table. */
const freeText = /^(name|label|repository_url|commit_subject|commit_author|detail|failure_message|host|email|note)$/;
const unchangeable: ReadonlySet<string> = new Set(['audit_event']);

export async function setStage(api: TestApi): Promise<Stage> {
  const { world } = api;
  const database = api.db.database;
  const ownRows = await insertOrganizationRows(database, 'ours');
  const foreignRows = await insertOrganizationRows(database, 'theirs');
  // A day ahead, so that the server counts as connected for as long as the calls take.
  const lastSeenAt = new Date(world.clock.now().getTime() + 86_400_000);
  await world.system(({ tx }) =>
    tx.server.update({
      where: { id: ownRows.serverId },
      data: { connectedGateway: 'matrix', lastSeenAt, capabilities: ['inspect', 'benchmark'] satisfies Capability[] },
    }),
  );
  // A second version, so that a restore of the first one changes something.
  const { appId, environmentId, organizationId: configOwner } = ownRows;
  await world.system(({ tx }) =>
    tx.appConfig.create({
      data: {
        id: newId('cfg'),
        organizationId: configOwner,
        appId,
        environmentId,
        number: 2,
        settings: { releasesKept: 6 },
      },
    }),
  );
  const marker = `planted${randomBytes(6).toString('hex')}`;
  const tables = await tenantTables();

  async function tenantTables(): Promise<{ name: string; columns: string[] }[]> {
    return world.system(
      ({ tx }) => tx.$queryRaw<{ name: string; columns: string[] }[]>`
        SELECT table_name::text AS name, array_agg(column_name::text) AS columns FROM information_schema.columns
        WHERE table_schema = 'public' GROUP BY table_name
        HAVING bool_or(column_name = 'organization_id') AND bool_or(column_name = 'id') ORDER BY 1`,
    );
  }

  const idsOf = async (organizationId: string): Promise<string[]> => {
    const ids: string[] = [];
    for (const { name } of tables) {
      const rows = await world.system(({ tx }) =>
        tx.$queryRawUnsafe<{ id: string }[]>(
          `SELECT id::text FROM "${name}" WHERE organization_id = $1 ORDER BY id`,
          organizationId,
        ),
      );
      ids.push(...rows.map(({ id }) => id));
    }
    return ids;
  };
  const poolOf = (ids: readonly string[], rows: object): Map<string, string> =>
    new Map([...ids, ...Object.values(rows as Record<string, string>)].map((id) => [id.split('_')[0] ?? id, id]));

  for (const { name, columns } of tables) {
    if (unchangeable.has(name)) continue;
    for (const column of columns.filter((each) => freeText.test(each))) {
      await world.system(({ tx }) =>
        tx.$executeRawUnsafe(
          `UPDATE "${name}" SET "${column}" = $1 || "${column}" WHERE organization_id = $2`,
          marker,
          foreignRows.organizationId,
        ),
      );
    }
  }
  await world.system(async ({ tx }) => {
    await tx.app.update({ where: { id: foreignRows.appId }, data: { slug: `${marker}-app` } });
    await tx.organization.update({ where: { id: foreignRows.organizationId }, data: { name: `${marker} org` } });
    await tx.user.update({ where: { id: foreignRows.userId }, data: { name: `${marker} owner` } });
    // Lists of branches and tags have no other trace of the row that they come from.
    for (const [{ organizationId }, ref] of [
      [ownRows, ownRows.environmentId] as const,
      [foreignRows, marker] as const,
    ]) {
      await tx.deployment.updateMany({ where: { organizationId }, data: { ref } });
      await tx.benchmarkRun.updateMany({ where: { organizationId }, data: { tags: [ref] } });
    }
  });

  // Writes one secret of the visible app besides the deleted one of a group: its value is a text of its row too.
  const writeSecret = async (id: string, app: string, value: string): Promise<string> => {
    const organizationId = parseId('org', id);
    return database.tenant(organizationId, async (tx) => {
      const actor = { kind: 'system', reason: 'test' } as const;
      const core = { tx, organizationId, actor, clock: world.clock, log: api.parts.log };
      await rotateDataKey(core, world.keys);
      const owner = { appId: parseId('app', app) };
      await updateSecrets(core, { owner, items: [{ name: 'OPEN', value, sealed: false }] }, world.keys);
      const secret = await tx.secret.findFirstOrThrow({ where: { organizationId, name: 'OPEN' } });
      return secret.id;
    });
  };
  const ownSecretId = await writeSecret(ownRows.organizationId, ownRows.appId, 'ours');
  const foreignSecretId = await writeSecret(foreignRows.organizationId, foreignRows.appId, marker);

  let accounts = 0;
  const account = async (name: string): Promise<{ cookie: string; userId: string }> => {
    accounts += 1;
    const made = await api.signUp(`${name.replaceAll(' ', '-')}${accounts}`, null);
    if (made.cookie === '') throw new Error(`${name} could not sign in`);
    return made;
  };
  const join = async (organizationId: string, name: string, role: string) => {
    const { cookie, userId } = await account(name);
    const memberId = newId('mem');
    await world.system(({ tx }) => tx.member.create({ data: { id: memberId, organizationId, userId, role } }));
    return { name, cookie, slug: 'ours', memberId };
  };
  const newRole = async (name: string): Promise<string> => {
    const id = newId('rol');
    await world.system(({ tx }) =>
      tx.customRole.create({ data: { id, organizationId: ownRows.organizationId, name, permissions: [] } }),
    );
    return id;
  };

  const roles: Stage['roles'][number][] = [];
  for (const role of roleSchema.options) roles.push({ ...(await join(ownRows.organizationId, role, role)), role });
  const [customRole, emptyRole, grantedRole] = [
    await newRole('Custom'),
    await newRole('Empty'),
    await newRole('Granted'),
  ];
  const custom = await join(ownRows.organizationId, 'custom', customRole);
  const granted = await join(ownRows.organizationId, 'granted', emptyRole);
  // Our organization is the one that was set up, so its owner is an operator.
  const { organizationId: setUpId } = ownRows;
  await world.system(({ tx }) =>
    tx.setupToken.create({
      data: { id: newId('stk'), organizationId: setUpId, tokenHash: 'used', usedAt: world.clock.now() },
    }),
  );
  const elsewhere = newId('prj');
  await world.system(({ tx }) =>
    tx.project.create({
      data: { id: elsewhere, organizationId: ownRows.organizationId, name: 'Elsewhere', slug: 'elsewhere' },
    }),
  );
  /** Places the deleted app in the environment of the others, whose protection holds for its restore too. */
  const placeDeletedApp = ({ organizationId, environmentId, serverId }: OrganizationRows): Promise<string> =>
    world.system(async ({ tx }) => {
      const { appId } = await tx.appDeletion.findFirstOrThrow({ where: { organizationId } });
      const [id, servers] = [newId('plc'), { create: { serverId, position: 0 } }];
      const data = { id, organizationId, appId, environmentId, branch: 'main', isPrimary: true, servers };
      await tx.placement.create({ data });
      await tx.appDeletion.update({ where: { appId }, data: { placementIds: [id] } });
      return appId;
    });
  const deletedApps = { own: await placeDeletedApp(ownRows), foreign: await placeDeletedApp(foreignRows) };
  const foreignIds = await idsOf(foreignRows.organizationId);
  const own = poolOf(await idsOf(ownRows.organizationId), ownRows);
  own.set('deletedApp', deletedApps.own);
  own.set('slug', 'hello').set('cursor', ownRows.appId).set('sec', ownSecretId);
  const foreign = poolOf(foreignIds, foreignRows);
  foreign.set('deletedApp', deletedApps.foreign);
  foreign.set('slug', `${marker}-app`).set('cursor', foreignRows.appId).set('sec', foreignSecretId);
  const places = {
    project: { projectId: ownRows.projectId, environmentId: null },
    environment: { projectId: null, environmentId: ownRows.environmentId },
    elsewhere: { projectId: elsewhere, environmentId: null },
  } as const;

  return {
    ownId: ownRows.organizationId,
    foreignId: foreignRows.organizationId,
    marker,
    own,
    foreign,
    placed: ['app', 'crt', 'deletedApp', 'dep', 'dlv', 'dom', 'run', 'scg', 'env'].flatMap(
      (kind) => own.get(kind) ?? [],
    ),
    foreignTraces: [marker, ...foreignIds, ...Object.values(foreignRows as unknown as Record<string, string>)],
    nobody: { name: 'no one', cookie: undefined, slug: 'ours' },
    stranger: { name: 'a stranger', cookie: (await account('stranger')).cookie, slug: 'ours' },
    foreignOwner: { ...(await join(foreignRows.organizationId, 'foreign owner', 'owner')), slug: 'ours' },
    roles,
    custom,
    setCustom: async (permissions) => {
      await world.system(({ tx }) =>
        tx.customRole.update({ where: { id: customRole }, data: { permissions: [...permissions] } }),
      );
    },
    granted,
    setGrant: async (permissions, place) => {
      await world.system(async ({ tx }) => {
        await tx.customRole.update({ where: { id: grantedRole }, data: { permissions: [...permissions] } });
        await tx.roleGrant.deleteMany({ where: { memberId: granted.memberId } });
        await tx.roleGrant.create({
          data: {
            id: newId('grt'),
            organizationId: ownRows.organizationId,
            memberId: granted.memberId,
            role: grantedRole,
            ...places[place],
          },
        });
      });
    },
    throwaway: async () => ({ name: 'an account', cookie: (await account('throwaway')).cookie, slug: 'ours' }),
    foreignFingerprint: async () => {
      const digests = [...tables, { name: 'organization' }].map(({ name }) => {
        const key = name === 'organization' ? 'id' : 'organization_id';
        return `SELECT '${name}:' || coalesce(md5(string_agg(r::text, '|' ORDER BY r.id)), '') AS digest
          FROM "${name}" AS r WHERE r.${key} = $1`;
      });
      const rows = await world.system(({ tx }) =>
        tx.$queryRawUnsafe<{ digest: string }[]>(
          `SELECT digest FROM (${digests.join(' UNION ALL ')}) AS each ORDER BY digest`,
          foreignRows.organizationId,
        ),
      );
      return rows.map(({ digest }) => digest).join(' ');
    },
  };
}
