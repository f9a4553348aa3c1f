// Control plane page through the API: who may see it, test emails over real SMTP, and failed jobs of the real queue.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@fairlead/contract/ids';
import { createMailer } from '@fairlead/mail';
import { SMTPServer } from 'smtp-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCaller, createContext } from './index.ts';
import { newFailedJob } from './testing/failed-job.ts';
import { startTestApi, type TestApi } from './testing/index.ts';
import { newTestFeed } from './testing/test-feed.ts';

let api: TestApi;
let owner: { cookie: string; userId: string };
beforeEach(async () => {
  api = await startTestApi();
  owner = await api.signUp('Owner', 'owner');
});
afterEach(() => api.close());

/** Marks the organization as the one that was set up. */
function setUp(organizationId: string): Promise<unknown> {
  return api.world.system(({ tx }) =>
    tx.setupToken.create({
      data: { id: 'stk_used', organizationId, tokenHash: 'used', usedAt: api.world.clock.now() },
    }),
  );
}

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: { cause?: { published?: { errorCode: string } } }) => error.cause?.published?.errorCode,
  );

function mailing(url: string) {
  const mail = createMailer({ url, from: 'Fairlead <fairlead@example.test>' });
  const { organizationSlug } = api.world;
  const headers = new Headers({ cookie: owner.cookie });
  return createCaller(createContext({ ...api.parts, mail }, { headers, organizationSlug }));
}

test('operators are the owners of the organization that was set up, and owners of no other one', async () => {
  expect(await codeOf(api.caller(owner.cookie).controlPlane.get())).toBe('control_plane.operator_only');
  await setUp(api.world.organizationId);
  expect(await codeOf(api.caller(owner.cookie).controlPlane.get())).toBe('ok');
  const admin = await api.signUp('Admin', 'admin');
  expect(await codeOf(api.caller(admin.cookie).controlPlane.get())).toBe('control_plane.operator_only');
  expect((await api.caller(owner.cookie).session.me()).operatedOrganizationId).toBe(api.world.organizationId);

  const other = await api.signUp('Other', null);
  const { slug } = await api.caller(other.cookie, null).organization.create({ name: 'Elsewhere' });
  expect(await codeOf(api.caller(other.cookie, slug).controlPlane.get())).toBe('control_plane.operator_only');
  expect((await api.caller(other.cookie, null).session.me()).operatedOrganizationId).toBeNull();
  const second = await api.caller(owner.cookie, null).organization.create({ name: 'Second' });
  expect(await codeOf(api.caller(owner.cookie, second.slug).controlPlane.get())).toBe('control_plane.operator_only');
});

test('an API token of an operator may not see the page', async () => {
  await setUp(api.world.organizationId);
  const { token } = await api.caller(owner.cookie).token.create({ name: 'Laptop', permissions: ['app.read'] });
  expect(await codeOf(api.tokenCaller(token).controlPlane.get())).toBe('token.person_only');
});

test('the page has addresses, versions, jobs and storage', async () => {
  await setUp(api.world.organizationId);
  await api.world.system(({ tx }) => tx.server.updateMany({ data: { agentVersion: '0.1.0' } }));
  const jobId = await newFailedJob(api.db);
  const forwarded = { 'x-forwarded-for': '203.0.113.9, 10.0.0.2' };
  const page = await api.caller(owner.cookie, api.world.organizationSlug, forwarded).controlPlane.get();
  expect(page.addresses.clientAddress).toBe('203.0.113.9');
  expect(page.mail).toBeNull();
  expect(page.versions).toMatchObject({
    node: process.versions.node,
    postgres: expect.stringMatching(/^\d+/),
    offeredAgents: [{ target: 'linux-x64', version: '9.9.9' }],
    agents: [{ version: '0.1.0', servers: 1 }],
  });
  expect(page.jobs.counts).toContainEqual({
    name: 'app.purge',
    waiting: 0,
    running: 0,
    failed: 1,
    oldestWaiting: null,
  });
  expect(page.jobs.failed).toEqual([
    { id: jobId, name: 'app.purge', attempts: 1, error: 'The disk is full.', failedAt: expect.any(Date) },
  ]);
  expect(page.storage.disks).toHaveLength(1);
  expect(page.storage.disks[0]?.freeBytes).toBeGreaterThan(0);
  expect(page.storage.databaseBytes).toBeGreaterThan(0);
});

test('a retried job waits again, and a second retry is refused', async () => {
  await setUp(api.world.organizationId);
  const jobId = await newFailedJob(api.db);
  expect(await api.caller(owner.cookie).controlPlane.retryJob({ jobId })).toEqual({ name: 'app.purge' });
  const { jobs } = await api.caller(owner.cookie).controlPlane.get();
  expect(jobs.failed).toEqual([]);
  expect(jobs.counts.find(({ name }) => name === 'app.purge')).toMatchObject({
    waiting: 1,
    failed: 0,
    oldestWaiting: expect.any(Date),
  });
  expect(await codeOf(api.caller(owner.cookie).controlPlane.retryJob({ jobId }))).toBe('control_plane.job_not_failed');
});

test('an operator starts one backup at a time, and only with a folder for it', async () => {
  await setUp(api.world.organizationId);
  const { controlPlane } = api.caller(owner.cookie);
  api.world.clock.forward(16 * 60_000);
  expect(await codeOf(controlPlane.startBackup())).toBe('session.not_fresh');
  api.world.clock.forward(-16 * 60_000);
  const { backupId } = await controlPlane.startBackup();
  const { backups } = await controlPlane.get();
  expect(backups).toMatchObject({ next: null, latest: [{ id: backupId, state: 'queued', isScheduled: false }] });
  expect(await codeOf(controlPlane.startBackup())).toBe('control_plane.backup_running');
  const events = await api.world.system(({ tx }) =>
    tx.auditEvent.findMany({ where: { action: 'control_plane.start_backup' } }),
  );
  expect(events).toMatchObject([{ actorId: owner.userId, targetId: backupId }]);
  const { config } = api.parts;
  const backupFacts = { ...config.controlPlane.backups, folder: null };
  const bare = { ...config, controlPlane: { ...config.controlPlane, backups: backupFacts } };
  const headers = new Headers({ cookie: owner.cookie });
  const ctx = createContext({ ...api.parts, config: bare }, { headers, organizationSlug: api.world.organizationSlug });
  expect(await codeOf(createCaller(ctx).controlPlane.startBackup())).toBe('control_plane.backup_not_set_up');
});

test('an operator finds a newer version, and starts its update once', async () => {
  await setUp(api.world.organizationId);
  const { controlPlane } = api.caller(owner.cookie);
  expect(await codeOf(controlPlane.checkUpdate())).toBe('control_plane.feed_not_set_up');
  const { version, facts } = await newTestFeed();
  const set = (more: object) => Object.assign(api.parts.config.controlPlane, { updates: { ...facts, ...more } });
  set({});
  expect(await codeOf(controlPlane.startUpdate({ version }))).toBe('control_plane.update_other_version');
  expect(await controlPlane.checkUpdate()).toMatchObject({
    current: '0.1.0',
    available: { version },
    method: 'button',
  });
  expect((await controlPlane.listNotices()).items.map(({ kind }) => kind)).toContain('update_available');
  set({ updaterFolder: null });
  expect(await codeOf(controlPlane.startUpdate({ version }))).toBe('control_plane.update_unavailable');
  set({ current: version });
  expect(await codeOf(controlPlane.startUpdate({ version }))).toBe('control_plane.update_other_version');
  set({});
  expect(await codeOf(controlPlane.startUpdate({ version: '0.3.0' }))).toBe('control_plane.update_other_version');
  const admin = await api.signUp('Admin', 'admin');
  const byAdmin = api.caller(admin.cookie).controlPlane;
  expect(await codeOf(byAdmin.startUpdate({ version }))).toBe('control_plane.operator_only');
  api.world.clock.forward(16 * 60_000);
  expect(await codeOf(controlPlane.startUpdate({ version }))).toBe('session.not_fresh');
  api.world.clock.forward(-16 * 60_000);
  expect(await codeOf(controlPlane.startUpdate({ version }))).toBe('ok');
  expect(await readFile(join(facts.updaterFolder, 'requests/request'), 'utf8')).toBe(`${version}\n`);
  expect(await codeOf(controlPlane.startUpdate({ version }))).toBe('control_plane.update_running');
  await rename(join(facts.updaterFolder, 'requests/request'), join(facts.updaterFolder, 'taken'));
  await writeFile(join(facts.updaterFolder, 'state'), 'state running\nstep fetch\n');
  expect(await codeOf(controlPlane.startUpdate({ version }))).toBe('control_plane.update_running');
  expect((await controlPlane.get()).updates).toMatchObject({ isRequested: false, last: { state: 'running' } });
});

test('a failed backup is a warning on the overview of operators', async () => {
  await setUp(api.world.organizationId);
  Object.assign(api.parts.config.controlPlane.backups, { schedule: { periodMs: 86_400_000, offsetMs: 0 } });
  const { id } = await api.world.system(({ tx, clock }) => {
    const now = clock.now();
    const times = { createdAt: now, finishedAt: now, leaseUntil: now };
    return tx.backup.create({ data: { id: newId('bak'), state: 'failed', failure: 'The disk is full.', ...times } });
  });
  const { controlPlane } = api.caller(owner.cookie);
  const { items } = await controlPlane.listNotices();
  expect(items.filter(({ kind }) => kind !== 'disk_short')).toMatchObject([
    { kind: 'backup_failed', detail: 'The disk is full.' },
  ]);
  const { backups } = await controlPlane.get();
  expect(backups).toMatchObject({ next: expect.any(Date), latest: [{ id, state: 'failed' }], lastSucceeded: null });
});

test('a test email goes to the own address, and its result is told and audited', async () => {
  await setUp(api.world.organizationId);
  expect(await codeOf(api.caller(owner.cookie).controlPlane.sendTestMail())).toBe('control_plane.mail_not_set_up');
  const recipients: string[] = [];
  const sink = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) => {
      recipients.push(address);
      done();
    },
    onData: (stream, _session, done) => stream.on('end', () => done()).resume(),
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  const { port } = sink.server.address() as { port: number };
  const sent = await mailing(`smtp://127.0.0.1:${port}`).controlPlane.sendTestMail();
  await new Promise<void>((resolve) => sink.close(resolve));
  expect(sent).toEqual({ to: 'owner@example.test', failure: null });
  expect(recipients).toEqual(['owner@example.test']);

  const lost = await mailing('smtp://ada:hunter2@127.0.0.1:1').controlPlane.sendTestMail();
  expect(lost.failure).toMatch(/^The mail server 127\.0\.0\.1:1 could not be reached: .*ECONNREFUSED/);
  expect(lost.failure).not.toContain('hunter2');
  const events = await api.world.system(({ tx }) =>
    tx.auditEvent.findMany({ where: { action: 'control_plane.send_test_mail' }, orderBy: { at: 'asc' } }),
  );
  expect(events.map(({ after }) => after)).toEqual(
    expect.arrayContaining([{ failure: null }, { failure: lost.failure }]),
  );

  await mailing(`smtp://127.0.0.1:${port}`).controlPlane.sendTestMail();
  expect(await codeOf(mailing(`smtp://127.0.0.1:${port}`).controlPlane.sendTestMail())).toBe('request.rate_limited');
});
