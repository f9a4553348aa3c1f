// Tests of the mail that reminds of expiring secrets, on a real database and a real SMTP server: recipients, contents,
// sent once.
import { parseId } from '@fairlead/contract/ids';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { defaultBuildSlots } from '@fairlead/core/deployment';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys, updateSecrets } from '@fairlead/core/secret';
import { silentLog, type TestWorld, testPerson, testWorld, testWrapper } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createMailer, type Mailer } from '@fairlead/mail';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { unusedGithub } from './github.testing.ts';
import type { HandlerParts } from './handler.ts';
import { createOrganizationTurns } from './organization-turns.ts';
import { remindSecretsHandler } from './secret.ts';
import { testAcme, testDns, testHostLookup } from './testing.ts';

interface Received {
  readonly to: string;
  readonly text: string;
}

const dayMs = 24 * 60 * 60_000;
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

async function remind(change: Partial<HandlerParts> = {}): Promise<void> {
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
  await remindSecretsHandler(parts, {});
}

async function expire(names: readonly string[], days: number): Promise<void> {
  const expiresAt = new Date(world.clock.now().getTime() + days * dayMs);
  const { id } = await world.tenant(({ tx }) => tx.app.findFirstOrThrow());
  const items = names.map((name) => ({ name, value: 'a value for nobody', expiresAt }));
  await world.tenant((ctx) => updateSecrets(ctx, { owner: { appId: parseId('app', id) }, items }, world.keys));
}

test('owners and admins get one mail about secrets that expire soon, with names and a link, never a value', async () => {
  await world.createApp('Shop');
  const admin = await testPerson(db.database, world, 'Ada', 'admin');
  const viewer = await testPerson(db.database, world, 'Bob', 'viewer');
  await expire(['API_KEY', 'TOKEN'], 3);
  await expire(['LATER'], 60);
  await remind();
  const owner = await world.system(({ tx }) =>
    tx.member.findFirstOrThrow({ where: { role: 'owner' }, select: { user: { select: { email: true } } } }),
  );
  expect(received.map(({ to }) => to).sort()).toEqual([admin.email, owner.user.email].sort());
  expect(received.map(({ to }) => to)).not.toContain(viewer.email);
  const day = new Date(world.clock.now().getTime() + 3 * dayMs).toISOString().slice(0, 10);
  for (const { text } of received) {
    expect(text).toContain('Subject: 2 secrets expire soon in acme');
    expect(text).toContain(`API_KEY of Shop expires on ${day}.`);
    expect(text).toContain(`TOKEN of Shop expires on ${day}.`);
    expect(text).toContain('https://fairlead.example.test/acme');
    expect(text).not.toContain('LATER');
    expect(text).not.toContain('a value for nobody');
  }
  received.length = 0;
  await remind();
  expect(received).toEqual([]);
  // A changed date counts anew.
  await expire(['API_KEY'], 5);
  await remind();
  expect(received).toHaveLength(2);
  expect(received[0]?.text).toContain('Subject: A secret expires soon in acme');
});

test('a refused mailbox does not keep the mail from the others, and the log names no secret', async () => {
  await world.createApp('Shop');
  const admin = await testPerson(db.database, world, 'Ada', 'admin');
  refusing = admin.email;
  await expire(['API_KEY'], 3);
  await remind();
  expect(received).toHaveLength(1);
  expect(complaints).toHaveLength(1);
  expect(complaints[0]).toContain('a reminder of secrets was not sent');
  expect(complaints[0]).not.toContain('API_KEY');
});

test('without a mail server no mail is sent, and only the dashboard shows the reminder', async () => {
  await world.createApp('Shop');
  await expire(['API_KEY'], 3);
  await remind({ mailer: null });
  await remind();
  expect(received).toEqual([]);
});
