// Lists secrets that expire soon, for the overview and for a single reminder.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { Ctx, SystemCtx } from '../kernel/index.ts';
import { type Reach, whereReached, wholeReach } from '../role/index.ts';

const remindBeforeMs = 14 * 24 * 60 * 60_000;

export interface ExpiringSecret {
  readonly name: string;
  /** The app's or the group's. */
  readonly ownerName: string;
  /** Null for a group's. */
  readonly appSlug: string | null;
  readonly expiresAt: Date;
}

/** Soonest first, at most `limit`. */
export async function listExpiringSecrets(
  ctx: Ctx,
  limit: number,
  reach: Reach = wholeReach,
): Promise<ExpiringSecret[]> {
  const rows = await ctx.tx.secret.findMany({
    where: {
      AND: [dueAt(ctx.clock.now()), reach.everywhere ? {} : { OR: placesOf(reach) }],
      organizationId: ctx.organizationId,
    },
    select: columns,
    orderBy: [{ expiresAt: 'asc' }, { id: 'asc' }],
    take: limit,
  });
  return rows.flatMap(toExpiring);
}

function placesOf(reach: Reach) {
  return [{ group: { projectId: { in: [...reach.projectIds] } } }, { environment: whereReached(reach) }];
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
    expiresAt: { lte: new Date(now.getTime() + remindBeforeMs) },
    OR: [{ groupId: null }, { group: { deletedAt: null } }],
  };
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
