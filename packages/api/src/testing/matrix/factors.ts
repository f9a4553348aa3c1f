// Check of sessions with and without a proven factor. A session with only a password can't enter an organization that requires a
// factor, or change an account's factors. A proven twin makes every call as well.
import { randomBytes } from 'node:crypto';
import { insertPasskey, proveSecondFactor } from '@fairlead/auth/testing/insert-passkey';
import { newId, parseId } from '@fairlead/contract/ids';
import type { AnyRouter } from '@trpc/server';
import type { TestApi } from '../test-api.ts';
import { callProcedure } from './call.ts';
import { type DeclaredProcedure, declaredProcedures, isOfMembers } from './declared.ts';
import type { Person, Stage } from './stage.ts';

export interface SessionsReport {
  readonly calls: number;
  readonly leaks: readonly string[];
}

const ofOrganization = 'organization.two_factor_required';
const ofAccount = 'session.second_factor_required';

/** Mutations of an account that change how its person signs in. */
const changesFactors: Readonly<Record<string, unknown>> = {
  'account.updatePassword': { current: 'a wrong guess', next: 'correct horse battery staple' },
  'account.requestEmailChange': { email: 'thief@example.test' },
  'account.deletePasskey': { passkeyId: 'none' },
  'account.beginTwoFactor': undefined,
  'account.confirmTwoFactor': { code: '123456' },
  'account.rotateRecoveryCodes': undefined,
  'account.disableTwoFactor': undefined,
  'account.startGithubLink': { githubAppId: newId('gha') },
  'account.completeGithubLink': { state: 'none', code: 'none' },
  'account.deleteGithubLink': { githubAppId: newId('gha') },
};

/** Mutations of an account that change nothing about sign-in. Add a new one here or above. */
const changesNoFactor: ReadonlySet<string> = new Set([
  'account.update',
  'account.confirm',
  'account.confirmSecondFactor',
  'account.sendVerification',
  'account.revokeSession',
  'account.revokeOtherSessions',
  'account.updatePasskey',
]);

/** Creates a new owner of the staged organization. */
export async function newOwner(
  api: TestApi,
  stage: Stage,
  name: string,
): Promise<Person & { readonly userId: string }> {
  const organizationId = parseId('org', stage.ownId);
  const { cookie, userId } = await api.signUp(`owner-${randomBytes(6).toString('hex')}`, null);
  const row = { id: newId('mem'), organizationId, userId, role: 'owner' };
  await api.world.system(({ tx }) => tx.member.create({ data: row }));
  return { name, cookie, userId, slug: 'ours' };
}

/** Runs `work` while the staged organization requires a second factor. */
export async function whileTwoFactorIsRequired<T>(api: TestApi, stage: Stage, work: () => Promise<T>): Promise<T> {
  const require = (requiresTwoFactor: boolean) =>
    api.world.system(({ tx }) => tx.organization.update({ where: { id: stage.ownId }, data: { requiresTwoFactor } }));
  await require(true);
  try {
    return await work();
  } finally {
    await require(false);
  }
}

export async function checkFactors(api: TestApi, stage: Stage, router: AnyRouter): Promise<SessionsReport> {
  const leaks: string[] = [];
  let calls = 0;
  const unproven = await newOwner(api, stage, 'an owner by password alone');
  const proven = await newOwner(api, stage, 'an owner with a proven factor');
  for (const { userId } of [unproven, proven]) await insertPasskey(api.db.database, userId);
  await proveSecondFactor(api.db.database, proven.userId);

  const check = async (procedure: DeclaredProcedure, input: unknown, refusal: string): Promise<void> => {
    for (const person of [unproven, proven]) {
      calls += 1;
      const { outcome } = await callProcedure({ parts: api.parts, router, live: api.live }, procedure, person, input);
      if ((outcome === refusal) !== (person === unproven)) {
        leaks.push(`${procedure.path} as ${person.name} answered ${outcome}`);
      }
    }
  };
  const procedures = declaredProcedures(router);
  // Sends an invalid input: a refused session must not even learn that it is invalid, and the twin changes nothing.
  await whileTwoFactorIsRequired(api, stage, async () => {
    for (const procedure of procedures) {
      if (isOfMembers(procedure.access)) await check(procedure, { nonsense: true }, ofOrganization);
    }
  });
  for (const procedure of procedures) {
    if (procedure.access !== 'signed_in' || procedure.type !== 'mutation' || !procedure.path.startsWith('account.')) {
      continue;
    }
    if (Object.hasOwn(changesFactors, procedure.path)) {
      await check(procedure, changesFactors[procedure.path], ofAccount);
    } else if (!changesNoFactor.has(procedure.path)) {
      leaks.push(`${procedure.path} does not declare whether it changes how its person signs in`);
    }
  }
  return { calls, leaks };
}
