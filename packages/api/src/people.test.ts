// Members through the API: invitation, change and removal, with real accounts and sessions and real SMTP.
import { insertPasskey, proveSecondFactor } from '@fairlead/auth/testing/insert-passkey';
import { createMailer } from '@fairlead/mail';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createCaller, createContext } from './index.ts';
import { origin, startTestApi, type TestApi } from './testing/index.ts';

const mails: string[] = [];
const sink = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, _session, done) => {
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => {
      mails.push(Buffer.concat(parts).toString('utf8'));
      done();
    });
  },
});
beforeAll(() => new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise<void>((resolve) => sink.close(resolve)));

let api: TestApi;
let owner: { cookie: string; userId: string };
beforeEach(async () => {
  mails.length = 0;
  api = await startTestApi();
  owner = await api.signUp('Owner', 'owner');
});
afterEach(() => api.close());

type Caller = ReturnType<typeof createCaller>;

/** The API of a control plane that sends mail to this port. */
function mailing(cookie: string, port = portOf(sink)): Caller {
  const mail = createMailer({ url: `smtp://127.0.0.1:${port}`, from: 'Fairlead <fairlead@example.test>' });
  return createCaller(
    createContext(
      { ...api.parts, mail },
      { headers: new Headers({ cookie }), organizationSlug: api.world.organizationSlug },
    ),
  );
}

function portOf(server: SMTPServer): number {
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('the sink has no port');
  return address.port;
}

function tokenIn(text: string): string {
  // Soft line breaks of quoted-printable end with '='.
  return /invitation#token=(?:3D)?(invite_[\w-]+)/.exec(text.replace(/=\r?\n/g, '').replaceAll('=3D', '='))?.[1] ?? '';
}

const newPerson = (name: string) => ({ name, email: `${name}@example.test`, password: 'correct horse battery' });
const errorCode = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing',
    (error: { cause?: { published?: { errorCode: string } } }) => error.cause?.published?.errorCode,
  );

test('an invitation by mail admits its address only, and its link is in the mail only', async () => {
  const bob = await api.signUp('Bob', null);
  const eve = await api.signUp('Eve', null);
  const made = await mailing(owner.cookie).invitation.create({ role: 'developer', email: 'Bob@Example.test' });
  expect(made.url).toBeNull();
  expect(mails).toHaveLength(1);
  expect(mails[0]).toContain('To: bob@example.test');
  const token = tokenIn(mails[0] ?? '');
  expect(token).not.toBe('');
  expect((await api.caller(owner.cookie).invitation.list()).items).toMatchObject([
    { email: 'bob@example.test', mailed: true, invitedBy: 'Owner' },
  ]);

  const accept = (cookie: string) => api.caller(cookie, null).invitation.accept({ token });
  expect(await errorCode(accept(eve.cookie))).toBe('invitation.other_address');
  expect(await errorCode(api.caller(undefined, null).invitation.claim({ token, ...newPerson('mallory') }))).toBe(
    'invitation.other_address',
  );
  expect(await accept(bob.cookie)).toEqual({ organizationSlug: api.world.organizationSlug });
  expect(await errorCode(accept(bob.cookie))).toBe('invitation.token_invalid');
  expect((await api.caller(bob.cookie).session.me()).organizations).toMatchObject([{ role: 'developer' }]);
});

test('an unsent mail is reported, and sent again with a new link', async () => {
  const caller = mailing(owner.cookie, 1);
  const { invitationId } = await caller.invitation.create({ role: 'viewer', email: 'bob@example.test' });
  expect((await caller.invitation.list()).items).toMatchObject([{ mailed: false }]);
  expect(api.errors).toHaveLength(1);
  expect(JSON.stringify(api.errors)).not.toContain('invite_');
  api.world.clock.forward(60_000);
  await mailing(owner.cookie).invitation.rotate({ invitationId });
  expect((await caller.invitation.list()).items).toMatchObject([{ mailed: true }]);
  expect(tokenIn(mails[0] ?? '')).not.toBe('');
});

test('without mail one invites by link, and says so', async () => {
  const caller = api.caller(owner.cookie);
  expect(await errorCode(caller.invitation.create({ role: 'viewer', email: 'bob@example.test' }))).toBe(
    'invitation.mail_not_set_up',
  );
  expect(await caller.invitation.list()).toEqual({ items: [], mailAvailable: false });
});

test('a link gives a new person an account and a membership; of many concurrent uses, one succeeds', async () => {
  const { url } = await api.caller(owner.cookie).invitation.create({ role: 'viewer' });
  expect(url).toMatch(new RegExp(`^${origin}/invitation#token=invite_`));
  const token = tokenIn(url ?? '');
  const stranger = api.caller(undefined, null);
  expect(await stranger.invitation.read({ token })).toMatchObject({ role: 'viewer', invitedBy: 'Owner', email: null });
  const claims = await Promise.allSettled(
    ['cyd', 'dan', 'eli'].map((name) => stranger.invitation.claim({ token, ...newPerson(name) })),
  );
  expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const users = await api.world.system(({ tx }) =>
    tx.user.findMany({
      where: { email: { in: ['cyd@example.test', 'dan@example.test', 'eli@example.test'] } },
      select: { members: { select: { role: true } } },
    }),
  );
  // The person who came too late has no account left either.
  expect(users).toEqual([{ members: [{ role: 'viewer' }] }]);
  expect(await errorCode(stranger.invitation.read({ token }))).toBe('invitation.token_invalid');
});

test('an address with an account does not spend the link, and cannot be probed in bulk', async () => {
  const { url } = await api.caller(owner.cookie).invitation.create({ role: 'viewer' });
  const token = tokenIn(url ?? '');
  const claim = () => errorCode(api.caller(undefined, null).invitation.claim({ token, ...newPerson('owner') }));
  const answers: unknown[] = [];
  for (let tries = 0; tries < 11; tries += 1) answers.push(await claim());
  expect(new Set(answers.slice(0, 10))).toEqual(new Set(['account.email_taken']));
  expect(answers[10]).toBe('request.too_many');
  const bob = await api.signUp('Bob', null);
  await api.caller(bob.cookie, null).invitation.accept({ token });
});

test('only owners invite owners', async () => {
  const admin = await api.signUp('Admin', 'admin');
  expect(await errorCode(api.caller(admin.cookie).invitation.create({ role: 'owner' }))).toBe('role.owner_only');
  await api.caller(admin.cookie).invitation.create({ role: 'admin' });
});

test('an organization that requires a second factor refuses members without one, except to leave', async () => {
  const bob = await api.signUp('Bob', 'admin');
  const require = () => api.caller(owner.cookie).organization.update({ requiresTwoFactor: true });
  expect(await errorCode(require())).toBe('organization.two_factor_yourself');
  // An app in the account is not enough: this session signed in without its code.
  await api.world.system(({ tx }) => tx.user.update({ where: { id: owner.userId }, data: { twoFactorEnabled: true } }));
  expect(await errorCode(require())).toBe('organization.two_factor_yourself');
  await proveSecondFactor(api.db.database, owner.userId);
  await require();
  expect((await api.caller(owner.cookie).member.list()).items.length).toBeGreaterThan(1);

  const caller = api.caller(bob.cookie);
  const refused = [
    caller.member.list(),
    caller.app.list({}),
    caller.organization.update({ requiresTwoFactor: false }),
    caller.invitation.create({ role: 'viewer' }),
    caller.live.watch({ topics: [{ kind: 'organization', id: api.world.organizationId }] }),
  ];
  for (const call of refused) expect(await errorCode(call)).toBe('organization.two_factor_required');
  const me = await caller.session.me();
  expect(me).toMatchObject({ user: { hasSecondFactor: false }, organizations: [{ requiresTwoFactor: true }] });
  await caller.organization.leave({ organizationId: api.world.organizationId });
  expect((await caller.session.me()).organizations).toEqual([]);
});

test('a person chooses locale and time zone, and keeps the name; null is the browser’s', async () => {
  const dia = await api.signUp('Dia', 'viewer');
  // A caller reads its session once.
  const caller = () => api.caller(dia.cookie);
  expect((await caller().session.me()).user).toMatchObject({ locale: null, timeZone: null });
  await caller().account.update({ locale: 'de-DE', timeZone: 'Asia/Kolkata' });
  const chosen = { name: 'Dia', locale: 'de-DE', timeZone: 'Asia/Kolkata' };
  expect((await caller().session.me()).user).toMatchObject(chosen);
  expect(await caller().account.get()).toMatchObject(chosen);
  await caller().account.update({ name: 'Diana', timeZone: null });
  expect(await caller().account.get()).toMatchObject({ name: 'Diana', locale: 'de-DE', timeZone: null });
  for (const unknown of [{ locale: 'tlh' }, { timeZone: 'Mars/Olympus' }]) {
    expect(await errorCode(caller().account.update(unknown))).toBe('input.invalid');
  }
});

test('a person’s tokens count a passkey as their second factor', async () => {
  const cyd = await api.signUp('Cyd', 'admin');
  const { token } = await api.caller(cyd.cookie).token.create({ name: 'CI', permissions: ['app.read'] });
  const require = (requiresTwoFactor: boolean) =>
    api.world.system(({ tx }) =>
      tx.organization.update({ where: { id: api.world.organizationId }, data: { requiresTwoFactor } }),
    );
  await require(true);
  expect(await errorCode(api.tokenCaller(token).app.list({}))).toBe('token.invalid');
  await insertPasskey(api.db.database, cyd.userId);
  await api.tokenCaller(token).app.list({});
  await require(false);
});

test('a transfer requires a fresh session', async () => {
  await api.signUp('Bob', 'developer');
  const transfer = () =>
    api.caller(owner.cookie).organization.transfer({ memberId: 'mem_Bob' as never, confirmName: 'acme' });
  api.world.clock.forward(16 * 60_000);
  expect(await errorCode(transfer())).toBe('session.not_fresh');
  api.world.clock.forward(-16 * 60_000);
  await transfer();
  const { items } = await api.caller(owner.cookie).member.list();
  expect(items.find(({ userId }) => userId === owner.userId)?.role).toBe('admin');
  expect(items.find(({ name }) => name === 'Bob')?.role).toBe('owner');
});

test('a person creates an organization, renames it, schedules its deletion and cancels it', async () => {
  const bob = await api.signUp('Bob', null);
  const { slug } = await api.caller(bob.cookie, null).organization.create({ name: 'Ropes' });
  const caller = api.caller(bob.cookie, slug);
  await caller.organization.update({ name: 'Ropes & Rings' });
  expect(await errorCode(caller.organization.delete({ confirmName: 'Ropes' }))).toBe('organization.confirm_mismatch');
  const { deleteAt } = await caller.organization.delete({ confirmName: 'Ropes & Rings' });
  expect((await caller.session.me()).organizations).toMatchObject([{ name: 'Ropes & Rings', deleteAt }]);
  expect(await caller.organization.restore()).toEqual({ deleteAt: null });
  expect(await errorCode(caller.organization.leave({ organizationId: api.world.organizationId }))).toBe(
    'organization.not_found',
  );
});

test('a role is changed and a member removed; foreign members are unknown', async () => {
  const bob = await api.signUp('Bob', 'viewer');
  const stranger = await api.signUp('Stranger', null);
  const other = await api.caller(stranger.cookie, null).organization.create({ name: 'Other' });
  const foreign = (await api.caller(stranger.cookie, other.slug).member.list()).items[0];
  if (foreign === undefined) throw new Error('a member was expected');
  const caller = api.caller(owner.cookie);
  expect(await errorCode(caller.member.delete({ memberId: foreign.id }))).toBe('member.not_found');
  expect(await errorCode(caller.member.update({ memberId: foreign.id, role: 'viewer' }))).toBe('member.not_found');
  const memberId = 'mem_Bob' as typeof foreign.id;
  await caller.member.update({ memberId, role: 'developer' });
  expect((await api.caller(bob.cookie).session.me()).organizations).toMatchObject([{ role: 'developer' }]);
  await caller.member.delete({ memberId });
  expect(await errorCode(api.caller(bob.cookie).app.list({}))).toBe('organization.not_found');
});
