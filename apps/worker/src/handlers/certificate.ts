// Jobs of certificates.
import {
  advanceDnsRecord,
  certificateReminderMail,
  claimDnsRecords,
  claimRenewalInfo,
  findAccountToRegister,
  listDownDirectories,
  listOrganizationsWithHosts,
  planOrders,
  recordCertificateReminders,
  recordDirectory,
  recordRegistration,
  recordRenewalInfo,
} from '@fairlead/core/certificate';
import type { OrganizationCtx } from '@fairlead/core/kernel';
import type { Handler, HandlerParts } from './handler.ts';

type OrganizationId = OrganizationCtx['organizationId'];

export const planCertificatesHandler: Handler<'certificate.plan'> = async (parts) => {
  const { database, clock, log, secretKeys, acme } = parts;
  const { directoryUrl, binding } = acme;
  if (directoryUrl === '') return;
  const ids = await database.system('certificate.plan', (tx) => listOrganizationsWithHosts({ tx, clock, log }));
  for (const organizationId of ids) {
    try {
      await tenant(parts, organizationId, (ctx) =>
        planOrders(ctx, secretKeys, { directoryUrl, bindsAccounts: binding !== null }),
      );
      if (binding !== null) await registerAccount(parts, organizationId, binding);
    } catch (error) {
      // One organization's certificates must not block the others; the next run resumes.
      log.error({ err: error, organizationId }, 'certificates could not be ordered for now');
    }
  }
};

/** Registers the account of an organization, if its authority wants it to be bound and it is not registered yet. */
async function registerAccount(
  parts: HandlerParts,
  organizationId: OrganizationId,
  binding: NonNullable<HandlerParts['acme']['binding']>,
): Promise<void> {
  const { directoryUrl, caPem, email, register } = parts.acme;
  const account = await tenant(parts, organizationId, (ctx) =>
    findAccountToRegister(ctx, parts.secretKeys, directoryUrl),
  );
  if (account === null) return;
  const failure = await register({
    directory: { url: directoryUrl, caPem },
    email,
    keyDer: account.keyDer,
    binding,
  });
  await tenant(parts, organizationId, (ctx) => recordRegistration(ctx, account.id, failure));
}

export const proveCertificatesHandler: Handler<'certificate.prove'> = async (parts) => {
  const { database, clock, log, secretKeys, dns } = parts;
  const records = await database.system('certificate.prove', (tx) => claimDnsRecords({ tx, clock, log }));
  const step = async (record: (typeof records)[number]) => {
    try {
      await advanceDnsRecord(record, {
        keys: secretKeys,
        dns,
        tenant: (organizationId, work) => tenant(parts, organizationId, work),
      });
    } catch (error) {
      // The claim runs out, and the step is taken again.
      log.error({ err: error, dnsRecordId: record.id }, 'the step of a TXT record failed');
    }
  };
  // Records of one name change one after the other: some providers replace all values of a name at once.
  const byName = Map.groupBy(records, ({ zone, name }) => `${zone} ${name}`);
  await Promise.all(
    [...byName.values()].map(async (own) => {
      for (const record of own) await step(record);
    }),
  );
};

export const probeAuthoritiesHandler: Handler<'certificate.probe'> = async ({ database, clock, log, acme }) => {
  const urls = await database.system('certificate.probe', (tx) => listDownDirectories({ tx, clock, log }));
  for (const directoryUrl of urls) {
    const isUp = await acme.probe({ url: directoryUrl, caPem: acme.caPem });
    await database.system('certificate.probe', (tx) => recordDirectory({ tx, clock, log }, { directoryUrl, isUp }));
  }
};

export const askRenewalsHandler: Handler<'certificate.renewal'> = async (parts) => {
  const { database, clock, log, acme } = parts;
  const due = await database.system('certificate.renewal', (tx) => claimRenewalInfo({ tx, clock, log }));
  for (const [url, own] of Map.groupBy(due, ({ directoryUrl }) => directoryUrl)) {
    const identifiers = own.map(({ identifier }) => identifier);
    const found = await acme.readRenewalInfo({ url, caPem: acme.caPem }, identifiers);
    for (const [at, { organizationId, certificateId, identifier }] of own.entries()) {
      const info = found[at] ?? null;
      await tenant(parts, organizationId, (ctx) => recordRenewalInfo(ctx, { certificateId, identifier, info }));
    }
  }
};

function tenant<T>(
  { database, clock, log }: HandlerParts,
  organizationId: OrganizationId,
  work: (ctx: OrganizationCtx) => Promise<T>,
): Promise<T> {
  return database.tenant(organizationId, (tx) => work({ tx, organizationId, clock, log }));
}

/** A failed mail is not sent again: the overview shows the same until the certificate is renewed or replaced. */
export const remindCertificatesHandler: Handler<'certificate.remind'> = async (parts) => {
  const { database, clock, log, mailer, publicUrl } = parts;
  const reminders = await database.system('certificate.remind', (tx) => recordCertificateReminders({ tx, clock, log }));
  if (mailer === null) return;
  for (const reminder of reminders) {
    const { organizationId } = reminder;
    for (const to of reminder.recipients) {
      await mailer
        .send(certificateReminderMail(reminder, { to, publicUrl }))
        .catch((error: unknown) =>
          log.error({ err: error, organizationId }, 'a reminder of certificates was not sent'),
        );
    }
  }
};
