// Owns a release of an artifact that exists already: with newer secrets, or for another environment. Releases never change,
// so this makes another one.
import { newId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';

export interface CopyChanges {
  readonly environmentId: string;
  readonly configId: string | null;
  readonly secretSnapshotId: string | null;
  readonly command: readonly string[];
  readonly healthPath: string;
}

/** The app is locked. */
export async function copyRelease(ctx: Ctx, releaseId: string, changes: CopyChanges) {
  const { tx, organizationId } = ctx;
  const old = await tx.release.findFirstOrThrow({ where: { id: releaseId, organizationId } });
  const newest = await tx.release.findFirstOrThrow({
    where: { appId: old.appId, organizationId },
    select: { number: true },
    orderBy: { number: 'desc' },
  });
  return tx.release.create({
    data: {
      ...old,
      ...changes,
      command: [...changes.command],
      plan: old.plan ?? {},
      id: newId('rel'),
      number: newest.number + 1,
      createdAt: ctx.clock.now(),
    },
    select: { id: true, commitHash: true, commitSubject: true, commitAuthor: true },
  });
}
