// Test of the job that advances agent rollouts: every organization gets its turn.
import { newId } from '@fairlead/contract/ids';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { defaultBuildSlots } from '@fairlead/core/deployment';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys } from '@fairlead/core/secret';
import { silentLog, type TestWorld, testWorld, testWrapper } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { advanceAgentRolloutsHandler } from './agent-rollout.ts';
import { unusedGithub } from './github.testing.ts';
import { createOrganizationTurns } from './organization-turns.ts';
import { testAcme, testDns, testHostLookup } from './testing.ts';

const offer = { target: 'linux-x64', version: '2.0.0', digest: `sha256:${'b'.repeat(64)}`, sizeBytes: 3 };
let db: TestDatabase;
let acme: TestWorld;
let other: TestWorld;
const complaints: string[] = [];

beforeEach(async () => {
  complaints.length = 0;
  db = await testDatabase();
  acme = await testWorld(db.database);
  other = await testWorld(db.database, 'other', acme.clock);
});
afterEach(() => db.drop());

async function addRollout({ organizationId, serverId, system }: TestWorld, offers: object): Promise<string> {
  const id = newId('aro');
  await system(async ({ tx }) => {
    await tx.server.update({
      where: { id: serverId },
      data: { capabilities: ['upgrade'], hostInfo: { arch: 'x86_64' }, agentDigest: `sha256:${'a'.repeat(64)}` },
    });
    await tx.agentRollout.create({ data: { id, organizationId, offers, servers: { create: { serverId } } } });
  });
  return id;
}

const run = () =>
  advanceAgentRolloutsHandler(
    {
      database: db.database,
      logs: createFolderLogStore('/nonexistent'),
      artifacts: createFolderArtifactStore('/nonexistent'),
      workerId: 'worker-1',
      secretKeys: createSecretKeys(testWrapper()),
      links: { localHttpsPort: 4443, localHttpPort: 4480 },
      github: unusedGithub,
      mailer: null,
      publicUrl: null,
      hostLookup: testHostLookup,
      acme: testAcme,
      dns: testDns,
      buildSlots: defaultBuildSlots,
      turns: createOrganizationTurns({ log: silentLog, stopping: new AbortController().signal }),
      backups: null,
      updates: null,
      stopping: new AbortController().signal,
      clock: acme.clock,
      log: { ...silentLog, error: (fields, message) => complaints.push(`${message} ${JSON.stringify(fields)}`) },
    },
    {},
  );
const waves = async () => {
  const rows = await acme.system(({ tx }) => tx.agentRollout.findMany());
  return Object.fromEntries(rows.map(({ id, wave }) => [id, wave]));
};

test('each organization’s rollout advances, also when that of another fails', async () => {
  const broken = await addRollout(acme, [{ target: 'unknown' }]);
  const sound = await addRollout(other, [offer]);
  await run();
  await run();
  expect(await waves()).toEqual({ [broken]: 0, [sound]: 1 });
  expect(complaints).toHaveLength(2);
  expect(complaints[0]).toContain(broken);
  const { upgrade } = await other.system(({ tx }) => tx.server.findUniqueOrThrow({ where: { id: other.serverId } }));
  expect(upgrade).toMatchObject({ attempt: 1, digest: offer.digest, state: 'running' });
  const events = await other.system(({ tx }) =>
    tx.auditEvent.findMany({ where: { organizationId: other.organizationId, actorKind: 'system' } }),
  );
  expect(events.map(({ action }) => action).sort()).toEqual(['agent_rollout.advance', 'server.upgrade']);
});
