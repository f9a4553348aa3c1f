// States of a backup that a worker makes: claimed, renewed, ended. Invariant: an ended backup never changes.
import { type BackupId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { clipText, forOrganization, type SystemCtx } from '../kernel/index.ts';

/** A worker renews its lease several times in this time. */
export const backupLeaseMs = 60_000;

const FAILURE_LENGTH_MAX = 500;
/** History that stays in the table. The files have a limit of their own. */
const HISTORY_MS = 90 * 24 * 3_600_000;

export interface BackupRef {
  readonly backupId: BackupId;
}

/** Returns false if the backup is no longer queued. */
export async function claimBackup({ tx, clock }: SystemCtx, { backupId }: BackupRef): Promise<boolean> {
  const now = clock.now();
  const { count } = await tx.backup.updateMany({
    where: { id: backupId, state: 'queued' },
    data: { state: 'running', startedAt: now, leaseUntil: leaseFrom(now) },
  });
  return count === 1;
}

export async function touchBackup({ tx, clock }: SystemCtx, { backupId }: BackupRef): Promise<void> {
  await tx.backup.updateMany({
    where: { id: backupId, state: 'running' },
    data: { leaseUntil: leaseFrom(clock.now()) },
  });
}

export type BackupResult =
  | { readonly state: 'succeeded'; readonly dataFile: string; readonly keysFile: string; readonly sizeBytes: number }
  | { readonly state: 'failed' | 'interrupted'; readonly failure: string };

/** Failure of a scheduled backup, and the people who operate the control plane. */
export interface BackupFailure {
  readonly failure: string;
  readonly recipients: readonly { readonly to: string; readonly organizationSlug: string }[];
}

/**
 * Records the result, also in the audit log of the organization that operates the control plane. Returns the first failure
 * in a row of a scheduled backup, for a mail; null otherwise.
 */
export async function endBackup(
  ctx: SystemCtx,
  { backupId, ...result }: BackupRef & BackupResult,
): Promise<BackupFailure | null> {
  const { tx, clock } = ctx;
  const now = clock.now();
  const failure = 'failure' in result ? clipText(result.failure, FAILURE_LENGTH_MAX) : null;
  const { count } = await tx.backup.updateMany({
    where: { id: backupId, state: 'running' },
    data: { ...result, failure, finishedAt: now },
  });
  if (count === 0) return null;
  await tx.backup.deleteMany({ where: { createdAt: { lt: new Date(now.getTime() - HISTORY_MS) } } });
  const operated = await tx.organization.findMany({
    where: { setupTokens: { some: { usedAt: { not: null } } } },
    select: {
      id: true,
      slug: true,
      members: { where: { role: 'owner' }, select: { user: { select: { email: true } } } },
    },
  });
  for (const { id } of operated) {
    const actor = { kind: 'system', reason: 'backup' } as const;
    await recordAudit(
      { ...forOrganization(ctx, parseId('org', id)), actor },
      {
        action: 'control_plane.end_backup',
        target: { kind: 'backup', id: backupId, label: result.state },
        after: { ...result, failure },
      },
    );
  }
  if (failure === null || result.state !== 'failed' || !(await isFirstFailure(ctx, backupId))) return null;
  const recipients = operated.flatMap(({ slug, members }) =>
    members.map(({ user }) => ({ to: user.email, organizationSlug: slug })),
  );
  return { failure, recipients };
}

async function isFirstFailure({ tx }: SystemCtx, backupId: BackupId): Promise<boolean> {
  const scheduled = { slot: { not: null }, state: { in: ['succeeded', 'failed'] } };
  const [last, former] = await tx.backup.findMany({ where: scheduled, orderBy: { createdAt: 'desc' }, take: 2 });
  return last?.id === backupId && former?.state !== 'failed';
}

function leaseFrom(now: Date): Date {
  return new Date(now.getTime() + backupLeaseMs);
}
