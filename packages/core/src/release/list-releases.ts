// Lists releases, page by page.

import { parseId } from '@fairlead/contract/ids';
import { type Ctx, type Page, toPage } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { findKeptReleases } from './find-kept-releases.ts';
import type { ListReleasesInput, ReleaseView } from './schema.ts';

/** Newest first. The cursor is a release's number. */
export async function listReleases(ctx: Ctx, input: ListReleasesInput): Promise<Page<ReleaseView>> {
  const { organizationId } = ctx;
  const { appId, limit } = input;
  const { environmentId, liveReleaseId } = await requirePlacement(ctx, input);
  const before = Number.parseInt(input.cursor ?? '', 10);
  const rows = await ctx.tx.release.findMany({
    where: {
      appId,
      environmentId,
      organizationId,
      ...(Number.isSafeInteger(before) ? { number: { lt: before } } : {}),
    },
    include: { config: { select: { number: true } } },
    orderBy: { number: 'desc' },
    take: limit + 1,
  });
  const kept = new Set((await findKeptReleases(ctx, [{ appId, environmentId }])).map(({ id }) => id));
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
      isLive: row.id === liveReleaseId,
      configNumber: row.config?.number ?? 0,
      isKept: kept.has(row.id),
    }),
  );
}
