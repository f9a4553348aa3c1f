// People of a test world, each with a transaction of their own. Tests only.
import { type MemberId, newId } from '@fairlead/contract/ids';
import type { Database } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';
import { permissionsOf, type Rights, type Role, rightsOf, wholeOrganization } from '../role/index.ts';
import { silentLog, type TestWorld } from './index.ts';

export interface TestPerson {
  readonly userId: string;
  readonly memberId: MemberId;
  readonly email: string;
  as<T>(run: (ctx: Ctx, rights: Rights) => Promise<T>): Promise<T>;
}

export async function testAccount(world: TestWorld, name: string): Promise<{ userId: string; email: string }> {
  const userId = newId('usr');
  const email = `${name.toLowerCase()}.${userId.slice(4, 10).toLowerCase()}@example.test`;
  await world.system(({ tx }) => tx.user.create({ data: { id: userId, name, email } }));
  return { userId, email };
}

export async function testPerson(database: Database, world: TestWorld, name: string, role: Role): Promise<TestPerson> {
  const { userId, email } = await testAccount(world, name);
  const memberId = newId('mem');
  const { organizationId, clock } = world;
  const rights = rightsOf(role, [{ ...wholeOrganization, permissions: permissionsOf(role) }]);
  await world.system(({ tx }) => tx.member.create({ data: { id: memberId, organizationId, userId, role } }));
  return {
    userId,
    memberId,
    email,
    as: (run) =>
      database.tenant(organizationId, (tx) =>
        run({ tx, organizationId, clock, log: silentLog, actor: { kind: 'member', userId, role } }, rights),
      ),
  };
}

/** The role of every member, by user. */
export async function rolesOf(world: TestWorld): Promise<Map<string, string>> {
  const rows = await world.system(({ tx }) => tx.member.findMany({ where: { organizationId: world.organizationId } }));
  return new Map(rows.map(({ userId, role }) => [userId, role]));
}

/**
 * Returns the events of the organization in the order they were written: while the clock stands still, only the chain
 * has it.
 */
export async function auditEventsOf(world: TestWorld) {
  const { organizationId } = world;
  return await world.system(async ({ tx }) => {
    const links = await tx.auditLink.findMany({ where: { organizationId }, orderBy: { sequence: 'asc' } });
    const events = new Map((await tx.auditEvent.findMany({ where: { organizationId } })).map((row) => [row.id, row]));
    return links.flatMap(({ eventId }) => events.get(eventId) ?? []);
  });
}

export async function auditOf(world: TestWorld): Promise<string[]> {
  return (await auditEventsOf(world)).map(({ action }) => action);
}
