// Lists problems of the control plane.
import { listBackupWarnings } from '../backup/index.ts';
import { findAvailableUpdate } from '../fairlead-update/index.ts';
import { readDisks, reserveOf, roomOf, type SystemCtx } from '../kernel/index.ts';
import type { ControlPlaneFacts } from './get-control-plane.ts';
import type { ControlPlaneNotice, ControlPlaneWarning } from './schema.ts';

export async function listWarnings(
  ctx: SystemCtx,
  { folders, freeBytesMin, backups }: Pick<ControlPlaneFacts, 'folders' | 'freeBytesMin' | 'backups'>,
): Promise<ControlPlaneWarning[]> {
  return [...(await listShortDisks(folders, freeBytesMin)), ...(await listBackupWarnings(ctx, backups))];
}

/** Problems, then a newer version, for the overview of operators. */
export async function listNotices(ctx: SystemCtx, facts: ControlPlaneFacts): Promise<ControlPlaneNotice[]> {
  const available = await findAvailableUpdate(ctx, facts.updates);
  const problems = await listWarnings(ctx, facts);
  if (available === null) return problems;
  return [
    ...problems,
    {
      kind: 'update_available',
      title: `Fairlead ${available.version} is available`,
      detail: `Version ${facts.updates.current} runs. See what is new, and update.`,
    },
  ];
}

/** Measures on each call, because a full disk leaves no room for a record. */
export async function listShortDisks(folders: readonly string[], freeBytesMin: number): Promise<ControlPlaneWarning[]> {
  const short = (await readDisks(folders)).filter((disk) => roomOf(disk, freeBytesMin) < 0);
  return short.map((disk) => ({
    kind: 'disk_short' as const,
    title: `The control plane's disk is nearly full: ${mebibytes(disk.freeBytes)} free on ${disk.path}`,
    detail: `Uploads, artifacts and build logs are rejected until ${mebibytes(reserveOf(disk, freeBytesMin))} are free, so that the database keeps working. Make room: enlarge the disk, delete apps that are no longer needed, or move artifact_store_dir to another disk.`,
  }));
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 ** 2).toLocaleString('en')} MiB`;
}
