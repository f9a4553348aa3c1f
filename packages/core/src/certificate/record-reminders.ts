// Takes the certificates that expire soon and are not renewed, for one mail at each threshold.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { SystemCtx } from '../kernel/index.ts';
import { can, knownPermissions, roleSchema } from '../role/index.ts';
import { coversSql } from './uploads.ts';

/** Days before the end of an upload at which a reminder is sent: Fairlead does not renew it. */
const uploadDays = [30, 14, 7, 3, 1];
/** Days before the end of an ordered certificate at which a reminder is sent while its renewal fails. */
const orderedDays = [10, 3];

export interface CertificateReminder {
  readonly organizationId: OrganizationId;
  readonly organizationName: string;
  readonly organizationSlug: string;
  /** Members who may change domains in the whole organization. */
  readonly recipients: readonly string[];
  readonly certificates: readonly DueCertificate[];
  readonly now: Date;
}

interface DueCertificate {
  readonly name: string;
  readonly notAfter: Date;
  /** Cause of the failed renewal; null for an upload. */
  readonly failure: string | null;
}

interface DueRow extends DueCertificate {
  readonly id: string;
  readonly organizationId: string;
  readonly due: number;
}

/** Returns the reminders that are due, and records that they are sent now. A renewed or replaced certificate starts again. */
export async function recordCertificateReminders(ctx: SystemCtx): Promise<CertificateReminder[]> {
  const uploads = await findDueUploads(ctx);
  const ordered = await findDueOrdered(ctx);
  for (const { id, due } of uploads) {
    await ctx.tx.uploadedCertificate.update({ where: { id }, data: { remindedDays: due } });
  }
  for (const { id, due } of ordered) await ctx.tx.certificate.update({ where: { id }, data: { remindedDays: due } });
  const reminders: CertificateReminder[] = [];
  for (const [id, rows] of Map.groupBy([...uploads, ...ordered], (row) => row.organizationId)) {
    const { name, slug, members, customRoles } = await ctx.tx.organization.findUniqueOrThrow({
      where: { id },
      select: {
        name: true,
        slug: true,
        members: { select: { role: true, user: { select: { email: true } } }, orderBy: { id: 'asc' } },
        customRoles: { select: { id: true, permissions: true } },
      },
    });
    const mayChange = (role: string) => {
      const builtIn = roleSchema.safeParse(role).data;
      if (builtIn !== undefined) return can(builtIn, 'domain.write');
      const custom = customRoles.find((one) => one.id === role);
      return custom !== undefined && knownPermissions(custom.permissions).includes('domain.write');
    };
    reminders.push({
      organizationId: parseId('org', id),
      organizationName: name,
      organizationSlug: slug,
      recipients: members.filter(({ role }) => mayChange(role)).map(({ user }) => user.email),
      certificates: rows.map((row) => ({ name: row.name, notAfter: row.notAfter, failure: row.failure })),
      now: ctx.clock.now(),
    });
  }
  return reminders;
}

function findDueUploads({ tx, clock }: SystemCtx): Promise<DueRow[]> {
  return tx.$queryRaw<DueRow[]>`
    SELECT id, organization_id AS "organizationId", names[1] AS name, not_after AS "notAfter", NULL AS failure, due
    FROM (SELECT *, ${thresholdSql(uploadDays, clock.now())} AS due FROM uploaded_certificate) AS upload
    WHERE due < coalesce(reminded_days, 1000)
      AND EXISTS (SELECT 1 FROM domain WHERE domain.organization_id = upload.organization_id AND ${isLive}
        AND ${coversSql(Prisma.sql`upload.names`, Prisma.sql`domain.host`)})
    ORDER BY not_after, id`;
}

/** An uploaded certificate that lasts replaces an ordered one, which is then not missed. */
function findDueOrdered({ tx, clock }: SystemCtx): Promise<DueRow[]> {
  const now = clock.now();
  return tx.$queryRaw<DueRow[]>`
    SELECT id, organization_id AS "organizationId", host AS name, not_after AS "notAfter", failure_message AS failure, due
    FROM (SELECT *, ${thresholdSql(orderedDays, now)} AS due FROM certificate) AS ordered
    WHERE due < coalesce(reminded_days, 1000) AND failure_message IS NOT NULL
      AND EXISTS (SELECT 1 FROM domain WHERE domain.organization_id = ordered.organization_id
        AND (domain.host = ordered.host
          OR (domain.automatic AND ordered.host = '*' || substr(domain.host, strpos(domain.host, '.')))) AND ${isLive})
      AND NOT EXISTS (SELECT 1 FROM uploaded_certificate AS upload WHERE upload.not_after > ${now}
        AND upload.organization_id = ordered.organization_id
        AND ${coversSql(Prisma.sql`upload.names`, Prisma.sql`ordered.host`)})
    ORDER BY not_after, id`;
}

const isLive = Prisma.sql`NOT EXISTS (SELECT 1 FROM app_deletion WHERE app_deletion.app_id = domain.app_id)`;

/** Returns the lowest threshold that a certificate is past; null before the first, and without an end. */
function thresholdSql(days: readonly number[], now: Date): Prisma.Sql {
  return Prisma.sql`(SELECT min(day) FROM unnest(${[...days]}::int[]) AS day
    WHERE not_after <= ${now}::timestamptz + day * interval '1 day')`;
}
