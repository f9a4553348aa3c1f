// `npm run perf:secrets`: measures rendering and sealing the desired states of 50 servers with 200 secrets each, first
// and again, and writing 200 secrets. `--write` writes the figures to docs/benchmarks/secrets.md.
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { newId, parseId } from '@fairlead/contract/ids';
import { prepareDesiredState } from '@fairlead/core/desired-state';
import { createSecretSealer, createSnapshot, updateSecrets } from '@fairlead/core/secret';
import { testUrl, testWorld } from '@fairlead/core/testing';
import { cloneDatabase, startTestCluster } from '@fairlead/db/testing/cluster';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { writeReport } from '../perf/report.ts';

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
const rows: string[][] = [];
const servers = 50;
const secretsEach = 200;

const cluster = await startTestCluster();
const db = await cloneDatabase(cluster.templateUrl, { poolMax: 4 });
try {
  const world = await testWorld(db.database);
  const { organizationId } = world;
  const items = Array.from({ length: secretsEach }, (_, index) => ({
    name: `SECRET_${index}`,
    value: randomBytes(48).toString('base64'),
  }));
  const serverIds: string[] = [];
  const writesMs: number[] = [];
  for (let index = 0; index < servers; index += 1) {
    const app = await world.createApp(`App ${index}`, { deployNow: false });
    const serverId = newId('srv');
    serverIds.push(serverId);
    const recipient = await identityToRecipient(await generateIdentity());
    await world.system(({ tx }) =>
      tx.server.create({
        data: {
          id: serverId,
          organizationId,
          name: `server-${index}`,
          publicKey: new Uint8Array(32),
          sealingRecipient: recipient,
        },
      }),
    );
    const startedAt = performance.now();
    await world.tenant((ctx) => updateSecrets(ctx, { owner: { appId: app.appId }, items }, world.keys));
    writesMs.push(performance.now() - startedAt);
    await world.system(async ({ tx, clock, log }) => {
      const placement = await tx.placement.findFirstOrThrow({ where: { appId: app.appId } });
      const { environmentId } = placement;
      const ctx = { tx, clock, log, organizationId: parseId('org', organizationId) };
      const { snapshotId } = await createSnapshot(ctx, { appId: app.appId, environmentId });
      const releaseId = newId('rel');
      await tx.release.create({
        data: {
          id: releaseId,
          organizationId,
          appId: app.appId,
          environmentId,
          number: 1,
          commitHash: '0'.repeat(40),
          commitSubject: 'Measure',
          commitAuthor: 'Ada',
          committedAt: clock.now(),
          artifactDigest: `sha256:${'a'.repeat(64)}`,
          artifactSizeBytes: 1n,
          builtOnServerId: serverId,
          runtime: 'node',
          command: ['node'],
          healthPath: '',
          secretSnapshotId: snapshotId,
        },
      });
      await tx.placementServer.updateMany({
        where: { placementId: placement.id },
        data: { serverId, liveReleaseId: releaseId },
      });
    });
  }
  const sealer = createSecretSealer(world.keys);
  const render = async () => {
    const times: number[] = [];
    for (const serverId of serverIds) {
      const startedAt = performance.now();
      const state = await prepareDesiredState(world.system, { serverId, sealer, urlOf: testUrl });
      times.push(performance.now() - startedAt);
      if (state.apps[0]?.live?.secrets === undefined) throw new Error(`${serverId} was given no secrets`);
    }
    return times;
  };
  print(`write ${secretsEach} secrets of an app, audited`, writesMs);
  const cpu = process.cpuUsage();
  print(`render and seal a state with ${secretsEach} secrets, first`, await render());
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = (user + system) / 1000;
  console.log(`all ${servers} first states: ${cpuMs.toFixed(0)} ms of CPU in this process`);
  rows.push([`CPU of this process for a first state`, (cpuMs / servers).toFixed(1), '', `${servers}`]);
  print('render it again, with sealed secrets', await render());
  if (values.write) {
    writeReport({
      page: 'secrets',
      title: 'Cost of sealing secrets',
      intro: [
        `Time in milliseconds to render the desired states of ${servers} servers with ${secretsEach} secrets each, first and again, and to write the secrets.`,
        '`npm run perf:secrets -- --write` repeats the measurement and writes this page.',
      ],
      columns: ['what', 'p50 ms', 'p99 ms', 'times'],
      rows,
    });
  }
} finally {
  await db.drop();
  await cluster.stop();
}

function print(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(1);
  rows.push([what, at(0.5), at(0.99), `${times.length}`]);
  const sum = times.reduce((a, b) => a + b, 0).toFixed(0);
  console.log(`${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${times.length} times in ${sum} ms`);
}
