// Tests of the mail to members who may approve a deployment, on a real database and a real SMTP server: recipients,
// contents, sent once.
import { newId, parseId } from '@fairlead/contract/ids';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { approveDeployment, createDeployment, defaultBuildSlots } from '@fairlead/core/deployment';
import { updateEnvironment } from '@fairlead/core/environment';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys } from '@fairlead/core/secret';
import { silentLog, type TestPerson, type TestWorld, testPerson, testWorld, testWrapper } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createMailer, type Mailer } from '@fairlead/mail';
import { makeWorkerUtils } from 'graphile-worker';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { requestApprovalHandler } from './approval.ts';
import { unusedGithub } from './github.testing.ts';
import type { HandlerParts } from './handler.ts';
import { createOrganizationTurns } from './organization-turns.ts';
import { testAcme, testDns, testHostLookup } from './testing.ts';

interface Received {
  readonly to: string;
  readonly text: string;
}

const received: Received[] = [];
const complaints: string[] = [];
let refusing: string | null = null;
const sink = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onRcptTo: ({ address }, _session, done) => done(address === refusing ? new Error('no such mailbox') : null),
  onData: (stream, session, done) => {
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => {
      const to = session.envelope.rcptTo.map(({ address }) => address).join();
      // Long lines are folded in transit (RFC 2045, section 6.7).
      received.push({ to, text: Buffer.concat(parts).toString('utf8').replaceAll('=\r\n', '') });
      done();
    });
  },
});

let db: TestDatabase;
let world: TestWorld;
let mailer: Mailer;

beforeAll(async () => {
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  const address = sink.server.address();
  if (address === null || typeof address === 'string') throw new Error('the sink has no port');
  mailer = createMailer({ url: `smtp://127.0.0.1:${address.port}`, from: 'Fairlead <fairlead@example.test>' });
});
afterAll(() => new Promise<void>((resolve) => sink.close(resolve)));
beforeEach(async () => {
  received.length = 0;
  complaints.length = 0;
  refusing = null;
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterEach(() => db.drop());

async function notify(deploymentId: string, change: Partial<HandlerParts> = {}): Promise<void> {
  const parts: HandlerParts = {
    database: db.database,
    logs: createFolderLogStore('unused'),
    artifacts: createFolderArtifactStore('unused'),
    workerId: 'one',
    secretKeys: createSecretKeys(testWrapper()),
    links: { localHttpsPort: 4443, localHttpPort: 4480 },
    github: unusedGithub,
    mailer,
    publicUrl: 'https://fairlead.example.test',
    hostLookup: testHostLookup,
    acme: testAcme,
    dns: testDns,
    buildSlots: defaultBuildSlots,
    turns: createOrganizationTurns({ log: silentLog, stopping: new AbortController().signal }),
    backups: null,
    updates: null,
    stopping: new AbortController().signal,
    clock: world.clock,
    log: { ...silentLog, error: (fields, message) => void complaints.push(`${message} ${JSON.stringify(fields)}`) },
    ...change,
  };
  await requestApprovalHandler(parts, {
    organizationId: world.organizationId,
    deploymentId: parseId('dep', deploymentId),
  });
}

/** Deploys an app, protects its environment, and requests the next deployment as that person. */
async function request(requester: TestPerson): Promise<string> {
  const { appId, deploymentId } = await world.createApp('Shop');
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');
  await world.tenant(async (ctx) => {
    const { id } = await ctx.tx.environment.findFirstOrThrow({ where: { name: 'Production' } });
    await updateEnvironment(ctx, { environmentId: parseId('env', id), protected: true });
  });
  const wish = await requester.as((ctx) => createDeployment(ctx, { appId }));
  return wish.deploymentId;
}

/** Reads the ids of deployments whose approvers are going to be notified. */
async function listEnqueued(): Promise<string[]> {
  const utils = await makeWorkerUtils({ connectionString: db.url });
  const { rows } = await utils.withPgClient((client) =>
    client.query<{ id: string }>(`
      SELECT job.payload ->> 'deploymentId' AS id FROM graphile_worker._private_jobs AS job
      JOIN graphile_worker._private_tasks AS task ON task.id = job.task_id
      WHERE task.identifier = 'deployment.request_approval'`),
  );
  await utils.release();
  return rows.map(({ id }) => id);
}

test('those who may approve it get one mail with app, environment, commit and a link, and the requester gets none', async () => {
  const [kim, ada, bob] = [
    await testPerson(db.database, world, 'Kim', 'deployer'),
    await testPerson(db.database, world, 'Ada', 'deployer'),
    await testPerson(db.database, world, 'Bob', 'developer'),
  ];
  const granted = await testPerson(db.database, world, 'Eve', 'viewer');
  const elsewhere = await testPerson(db.database, world, 'Mo', 'viewer');
  const { organizationId } = world;
  await world.system(async ({ tx }) => {
    const { id: environmentId, projectId } = await tx.environment.findFirstOrThrow();
    const other = newId('env');
    await tx.environment.create({ data: { id: other, organizationId, projectId, name: 'Staging', slug: 'staging' } });
    const grant = { organizationId, role: 'deployer' };
    await tx.roleGrant.createMany({
      data: [
        { ...grant, id: newId('grt'), memberId: granted.memberId, environmentId },
        { ...grant, id: newId('grt'), memberId: elsewhere.memberId, environmentId: other },
      ],
    });
  });
  const deploymentId = await request(kim);
  expect(await listEnqueued()).toEqual([deploymentId]);
  await world.system(({ tx }) =>
    tx.deployment.update({
      where: { id: deploymentId },
      data: { commitHash: 'a'.repeat(40), commitSubject: 'Open the shop', commitAuthor: 'Lin' },
    }),
  );
  await notify(deploymentId);
  const to = received.map((mail) => mail.to).sort();
  const owner = `owner@${world.organizationSlug}.example.test`;
  expect(to).toEqual([owner, ada.email, granted.email].sort());
  expect(to).not.toContain(bob.email);
  for (const { text } of received) {
    expect(text).toContain('Subject: Shop waits for your approval to deploy to Production');
    expect(text).toContain('Kim requested deployment 2 of Shop to Production in acme.');
    expect(text).toContain('Open the shop (aaaaaaa) by Lin.');
    expect(text).toContain(`https://fairlead.example.test/acme/deployments/${deploymentId}`);
  }
  received.length = 0;
  await notify(deploymentId);
  expect(received).toEqual([]);
});

test('a request that was decided before the mail, or without a mail server, sends none', async () => {
  const kim = await testPerson(db.database, world, 'Kim', 'deployer');
  const ada = await testPerson(db.database, world, 'Ada', 'deployer');
  const deploymentId = await request(kim);
  await ada.as((ctx) => approveDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));
  await notify(deploymentId);
  expect(received).toEqual([]);
  const { appId } = await world.system(({ tx }) => tx.deployment.findUniqueOrThrow({ where: { id: deploymentId } }));
  const next = await kim.as((ctx) => createDeployment(ctx, { appId: parseId('app', appId) }));
  await notify(next.deploymentId, { mailer: null });
  await notify(next.deploymentId);
  expect(received).toEqual([]);
});

test('a member who retried the push of another gets no mail, because they may not approve it', async () => {
  const kim = await testPerson(db.database, world, 'Kim', 'deployer');
  const ada = await testPerson(db.database, world, 'Ada', 'deployer');
  const id = await request(kim);
  await world.system(({ tx }) => tx.deployment.update({ where: { id }, data: { actorUserId: ada.userId } }));
  await notify(id);
  expect(received.map(({ to }) => to)).toEqual([`owner@${world.organizationSlug}.example.test`]);
});

test('a refused mailbox does not keep the mail from the others', async () => {
  const kim = await testPerson(db.database, world, 'Kim', 'deployer');
  const ada = await testPerson(db.database, world, 'Ada', 'deployer');
  refusing = ada.email;
  await notify(await request(kim));
  expect(received.map(({ to }) => to)).toEqual([`owner@${world.organizationSlug}.example.test`]);
  expect(complaints).toHaveLength(1);
  expect(complaints[0]).toContain('a request for approval was not sent');
});
