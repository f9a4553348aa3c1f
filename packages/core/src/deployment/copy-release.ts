// Makes a release from an existing artifact: with newer secrets, or for another environment. Releases never change, so
// this makes a new one.
import { newId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { originSchema } from '../release/index.ts';
import { findOrigin } from './find-origin.ts';

export interface CopyChanges {
  readonly environmentId: string;
  readonly configId: string | null;
  readonly secretSnapshotId: string | null;
  readonly command: readonly string[];
  readonly healthPath: string;
}

export interface CopyInput {
  readonly releaseId: string;
  /** Makes it live. */
  readonly deploymentId: string;
}

/** The app is locked. */
export async function copyRelease(ctx: Ctx, { releaseId, deploymentId }: CopyInput, changes: CopyChanges) {
  const { tx, organizationId } = ctx;
  const old = await tx.release.findFirstOrThrow({ where: { id: releaseId, organizationId } });
  const newest = await tx.release.findFirstOrThrow({
    where: { appId: old.appId, organizationId },
    select: { number: true },
    orderBy: { number: 'desc' },
  });
  const { environmentId } = changes;
  const now = await findOrigin(ctx, { appId: old.appId, environmentId });
  return tx.release.create({
    data: {
      ...old,
      ...changes,
      command: [...changes.command],
      plan: old.plan ?? {},
      origin: { ...originSchema.parse(old.origin), ...now, deploymentId },
      id: newId('rel'),
      number: newest.number + 1,
      createdAt: ctx.clock.now(),
    },
    select: { id: true, commitHash: true, commitSubject: true, commitAuthor: true },
  });
}
