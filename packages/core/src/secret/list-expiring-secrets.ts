// Lists secrets that expire soon, for the overview and for a single reminder.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { Ctx, SystemCtx } from '../kernel/index.ts';
import { isReached, type Reach, wholeReach } from '../role/index.ts';

const remindBeforeMs = 14 * 24 * 60 * 60_000;

export interface ExpiringSecret {
  readonly name: string;
  /** The app's or the group's. */
  readonly ownerName: string;
  /** Null for a group's. */
  readonly appSlug: string | null;
  readonly expiresAt: Date;
}

/**
 * Returns the columns id, name, expires_at, owner_name, app_slug and environment_id of secrets that expire soon or have
 * expired.
 */
export function expiringSecretsSql(ctx: Ctx, reach: Reach = wholeReach): Prisma.Sql {
  const place = {
    projectId: Prisma.sql`coalesce(secret_group.project_id, environment.project_id)`,
    environmentId: Prisma.sql`secret.environment_id`,
  };
  return Prisma.sql`
    SELECT secret.id, secret.name, secret.expires_at, coalesce(app.name, secret_group.name) AS owner_name,
           app.slug AS app_slug, secret.environment_id
    FROM secret
    LEFT JOIN app ON app.id = secret.app_id
    LEFT JOIN environment ON environment.id = secret.environment_id
    LEFT JOIN secret_group ON secret_group.id = secret.group_id
    WHERE secret.organization_id = ${ctx.organizationId} AND secret.deleted_at IS NULL
      AND secret.expires_at <= ${remindBefore(ctx.clock.now())} AND secret_group.deleted_at IS NULL
      AND ${isReached(reach, place)}`;
}

export interface SecretReminder {
  readonly organizationId: OrganizationId;
  readonly organizationName: string;
  readonly organizationSlug: string;
  /** Owners and admins of the organization. */
  readonly recipients: readonly string[];
  readonly secrets: readonly ExpiringSecret[];
}

/** Takes the secrets without a reminder and records that it is sent now; a changed date counts as new. */
export async function recordSecretReminders(ctx: SystemCtx): Promise<SecretReminder[]> {
  const now = ctx.clock.now();
  const rows = await ctx.tx.secret.findMany({
    where: { AND: [dueAt(now), { OR: [{ appId: null }, { app: { deletion: null } }] }], remindedAt: null },
    select: { ...columns, id: true, organizationId: true },
    orderBy: [{ expiresAt: 'asc' }, { id: 'asc' }],
    take: 500,
  });
  await ctx.tx.secret.updateMany({ where: { id: { in: rows.map(({ id }) => id) } }, data: { remindedAt: now } });
  const reminders: SecretReminder[] = [];
  for (const [organizationId, secrets] of Map.groupBy(rows, (row) => row.organizationId)) {
    const organization = await ctx.tx.organization.findUniqueOrThrow({
      where: { id: organizationId },
      select: {
        name: true,
        slug: true,
        members: { where: { role: { in: ['owner', 'admin'] } }, select: { user: { select: { email: true } } } },
      },
    });
    reminders.push({
      organizationId: parseId('org', organizationId),
      organizationName: organization.name,
      organizationSlug: organization.slug,
      recipients: organization.members.map(({ user }) => user.email),
      secrets: secrets.flatMap(toExpiring),
    });
  }
  return reminders;
}

const columns = {
  name: true,
  expiresAt: true,
  app: { select: { name: true, slug: true } },
  group: { select: { name: true } },
} as const;

function dueAt(now: Date) {
  return {
    deletedAt: null,
    expiresAt: { lte: remindBefore(now) },
    OR: [{ groupId: null }, { group: { deletedAt: null } }],
  };
}

function remindBefore(now: Date): Date {
  return new Date(now.getTime() + remindBeforeMs);
}

function toExpiring(row: {
  name: string;
  expiresAt: Date | null;
  app: { name: string; slug: string } | null;
  group: { name: string } | null;
}): ExpiringSecret[] {
  if (row.expiresAt === null) return [];
  const ownerName = row.app?.name ?? row.group?.name ?? '';
  return [{ name: row.name, ownerName, appSlug: row.app?.slug ?? null, expiresAt: row.expiresAt }];
}
