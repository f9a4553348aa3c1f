// Owns the list of releases and its pages.
import { parseId } from '@fairlead/contract/ids';
import { AppError, type Ctx, type Page, toPage } from '../kernel/index.ts';
import type { ListReleasesInput, ReleaseView } from './schema.ts';

/** Newest first. The cursor is a release's number. */
export async function listReleases(ctx: Ctx, input: ListReleasesInput): Promise<Page<ReleaseView>> {
  const { organizationId } = ctx;
  const { appId, limit } = input;
  const placement = await ctx.tx.placement.findFirst({
    where: { appId, organizationId },
    select: { liveReleaseId: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (placement === null) throw new AppError('app.not_found', { appId });
  const before = Number.parseInt(input.cursor ?? '', 10);
  const rows = await ctx.tx.release.findMany({
    where: { appId, organizationId, ...(Number.isSafeInteger(before) ? { number: { lt: before } } : {}) },
    orderBy: { number: 'desc' },
    take: limit + 1,
  });
  return toPage(
    rows,
    limit,
    (row) => String(row.number),
    (row) => ({
      id: parseId('rel', row.id),
      number: row.number,
      commitHash: row.commitHash,
      commitSubject: row.commitSubject,
      commitAuthor: row.commitAuthor,
      committedAt: row.committedAt,
      artifactDigest: row.artifactDigest,
      artifactSizeBytes: Number(row.artifactSizeBytes),
      runtime: row.runtime,
      command: row.command,
      createdAt: row.createdAt,
      isLive: row.id === placement.liveReleaseId,
    }),
  );
}
