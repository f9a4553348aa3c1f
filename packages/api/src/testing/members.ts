// Members with certain rights, for tests of permissions.
import { newId } from '@fairlead/contract/ids';
import type { TestApi } from './test-api.ts';

export interface TestMember {
  readonly caller: ReturnType<TestApi['caller']>;
  readonly cookie: string;
  readonly memberId: string;
}

export interface TestMembers {
  /** A new person with a role in the organization. */
  member(role: string): Promise<TestMember>;
  customRole(permissions: readonly string[]): Promise<string>;
  /** Gives a role in one environment. */
  grant(memberId: string, role: string, environmentId: string): Promise<void>;
  /** A new person who has a role in one environment only. */
  memberOf(environmentId: string, role: string): Promise<TestMember>;
}

/** `api` is read at each call, because tests start it later. */
export function testMembers(api: () => TestApi): TestMembers {
  let people = 0;

  async function member(role: string): Promise<TestMember> {
    people += 1;
    const name = `Person${people}`;
    const { cookie } = await api().signUp(name, role);
    return { caller: api().caller(cookie), cookie, memberId: `mem_${name}` };
  }

  async function customRole(permissions: readonly string[]): Promise<string> {
    const id = newId('rol');
    const { organizationId } = api().world;
    await api().world.system(({ tx }) =>
      tx.customRole.create({ data: { id, organizationId, name: id, permissions: [...permissions] } }),
    );
    return id;
  }

  async function grant(memberId: string, role: string, environmentId: string): Promise<void> {
    const { organizationId } = api().world;
    await api().world.system(({ tx }) =>
      tx.roleGrant.create({ data: { id: newId('grt'), organizationId, memberId, role, environmentId } }),
    );
  }

  async function memberOf(environmentId: string, role: string): Promise<TestMember> {
    const made = await member(await customRole([]));
    await grant(made.memberId, role, environmentId);
    return made;
  }

  return { member, customRole, grant, memberOf };
}
