// Test of the daily check for a newer release, with a feed of a signed one.
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { defaultBuildSlots } from '@fairlead/core/deployment';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys } from '@fairlead/core/secret';
import { signedRelease, silentLog, testWorld, testWrapper } from '@fairlead/core/testing';
import { testDatabase } from '@fairlead/db/testing';
import { expect, test } from 'vitest';
import { unusedGithub } from './github.testing.ts';
import type { HandlerParts } from './handler.ts';
import { createOrganizationTurns } from './organization-turns.ts';
import { testAcme, testDns, testHostLookup } from './testing.ts';
import { checkUpdateHandler } from './update.ts';

test('a release is looked for once a day, and a failure is logged', async () => {
  const db = await testDatabase();
  const world = await testWorld(db.database);
  const { read, publicKey } = signedRelease({ version: '9.9.9' });
  const warnings: object[] = [];
  const readNames: string[] = [];
  const readFeedFile: typeof read = (name, bytesMax) => {
    readNames.push(name);
    return read(name, bytesMax);
  };
  const parts: HandlerParts = {
    database: db.database,
    logs: createFolderLogStore('unused'),
    artifacts: createFolderArtifactStore('unused'),
    workerId: 'one',
    secretKeys: createSecretKeys(testWrapper()),
    links: { localHttpsPort: 4443, localHttpPort: 4480 },
    github: unusedGithub,
    mailer: null,
    publicUrl: null,
    acme: testAcme,
    dns: testDns,
    hostLookup: testHostLookup,
    buildSlots: defaultBuildSlots,
    turns: createOrganizationTurns({ log: silentLog, stopping: new AbortController().signal }),
    backups: null,
    updates: { readFeedFile, publicKeys: [publicKey] },
    stopping: new AbortController().signal,
    clock: world.clock,
    log: { ...silentLog, warn: (fields) => void warnings.push(fields) },
  };
  const stored = () => world.system(({ tx }) => tx.updateCheck.findMany());
  await checkUpdateHandler({ ...parts, updates: null }, {});
  expect(await stored()).toEqual([]);
  await checkUpdateHandler(parts, {});
  await checkUpdateHandler(parts, {});
  expect(readNames).toEqual(['SHA256SUMS.minisig', 'SHA256SUMS', 'fairlead-9.9.9.json']);
  expect(await stored()).toMatchObject([{ version: '9.9.9', failure: null, checkedAt: world.clock.now() }]);
  world.clock.forward(24 * 60 * 60_000);
  await checkUpdateHandler({ ...parts, updates: { readFeedFile, publicKeys: [] } }, {});
  expect(warnings).toEqual([{ failure: expect.stringContaining('signature') }]);
  expect(await stored()).toMatchObject([{ version: '9.9.9', failure: expect.stringContaining('signature') }]);
  await db.drop();
});
