// Tests for reminders of certificates: once for each threshold, to members who may change domains, with the cause.
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { attachDomain } from '../domain/index.ts';
import { makeChain, type TestWorld, testHosts, testPerson, testWorld } from '../testing/index.ts';
import {
  addCertificate,
  certificateReminderMail,
  planOrders,
  recordCertificateReminders,
  updateCertificate,
} from './index.ts';

const host = 'shop.example.test';
const dayMs = 86_400_000;
const { leafPem, intermediatePem, rootPem, keyPem } = makeChain({ names: [host], days: 60 });
const input = { chainPem: [leafPem, intermediatePem, rootPem].join('\n'), keyPem };

let db: TestDatabase;
let world: TestWorld;
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const { appId } = await world.createApp('Shop', { deployNow: false });
  await world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts));
});
afterEach(() => db.drop());

const remind = () => world.system(recordCertificateReminders);
function goTo(end: Date, days: number): void {
  world.clock.forward(end.getTime() - days * dayMs - world.clock.now().getTime());
}
const upload = async () => {
  const { certificateId } = await world.tenant((ctx) => addCertificate(ctx, input, world.keys));
  const { notAfter } = await world.system(({ tx }) => tx.uploadedCertificate.findFirstOrThrow());
  return { certificateId, notAfter };
};

test('an upload is reminded of once at each threshold, also after a pause that skips some', async () => {
  const { notAfter } = await upload();
  const reminded: number[] = [];
  for (const days of [31, 30, 29, 14, 13.9, 7, 3, 2, 1, 0.5, -1]) {
    goTo(notAfter, days);
    if ((await remind()).length > 0) reminded.push(days);
    expect(await remind()).toEqual([]);
  }
  expect(reminded).toEqual([30, 14, 7, 3, 1]);
  await world.system(({ tx }) => tx.uploadedCertificate.updateMany({ data: { remindedDays: 30 } }));
  goTo(notAfter, -2);
  const [reminder] = await remind();
  expect(reminder?.certificates).toEqual([{ name: host, notAfter, failure: null }]);
});

test('a replaced upload is reminded of anew, and one without a domain is not', async () => {
  const { certificateId, notAfter } = await upload();
  goTo(notAfter, 1);
  expect(await remind()).toHaveLength(1);
  await world.tenant((ctx) => updateCertificate(ctx, { certificateId, ...input }, world.keys));
  await world.system(({ tx }) => tx.domain.deleteMany({ where: { host } }));
  expect(await remind()).toEqual([]);
});

test('members who may change domains get the mail, with the name, the day and a link', async () => {
  await testPerson(db.database, world, 'Ada', 'admin');
  await testPerson(db.database, world, 'Vic', 'viewer');
  const { notAfter } = await upload();
  goTo(notAfter, 3);
  const [reminder] = await remind();
  const recipients = reminder?.recipients ?? [];
  const people = await world.system(({ tx }) => tx.member.findMany({ include: { user: true } }));
  const mayChange = people.filter(({ role }) => role !== 'viewer').map(({ user }) => user.email);
  expect([...recipients].sort()).toEqual(mayChange.sort());
  if (reminder === undefined) throw new Error('a reminder was expected');
  const mail = certificateReminderMail(reminder, {
    to: 'ada@example.test',
    publicUrl: 'https://fairlead.example.test',
  });
  expect(mail.subject).toBe(`The certificate of ${host} expires soon in ${reminder.organizationName}`);
  expect(mail.paragraphs[0]).toContain(`${host} expires on ${notAfter.toISOString().slice(0, 10)}`);
  expect(mail.action?.url).toBe(
    `https://fairlead.example.test/${reminder.organizationSlug}/certificates?state=attention`,
  );
});

test('an ordered certificate is reminded of only while its renewal fails, at 10 and at 3 days', async () => {
  await world.tenant((ctx) =>
    planOrders(ctx, world.keys, { directoryUrl: 'https://authority.example.test/directory' }),
  );
  const notAfter = new Date(world.clock.now().getTime() + 60 * dayMs);
  await world.system(async ({ tx }) => {
    const { id: keyId } = await tx.certificateKey.findFirstOrThrow();
    await tx.certificate.updateMany({ data: { keyId, chain: [new Uint8Array([1])], notAfter } });
  });
  goTo(notAfter, 9);
  expect(await remind()).toEqual([]);
  await world.system(({ tx }) =>
    tx.certificate.updateMany({
      data: { failureCode: 'certificate.dns', failureMessage: 'The name does not resolve.', failedAt: notAfter },
    }),
  );
  const [reminder] = await remind();
  expect(reminder?.certificates).toEqual([{ name: host, notAfter, failure: 'The name does not resolve.' }]);
  goTo(notAfter, 4);
  expect(await remind()).toEqual([]);
  goTo(notAfter, 3);
  expect(await remind()).toHaveLength(1);
  expect(await remind()).toEqual([]);
});
