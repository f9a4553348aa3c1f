// Makes a release from a finished build: artifact, settings and secrets, never changed again.
import { newId } from '@fairlead/contract/ids';
import { syncRepositoryPlan } from '../benchmark-plan/index.ts';
import { loadSettings } from '../config/index.ts';
import { clipText, type OrganizationCtx } from '../kernel/index.ts';
import type { StepFacts } from './apply-step.ts';
import type { DeploymentRow } from './store.ts';

export async function createRelease(ctx: OrganizationCtx, row: DeploymentRow, facts: StepFacts): Promise<string> {
  const { artifact, commit } = facts;
  // recordWork fails a build without them before the machine sees a success.
  if (!artifact || !commit || row.buildServerId === null) {
    throw new TypeError('a release needs the artifact and the commit it was built from');
  }
  const { tx, organizationId } = ctx;
  const { appId, environmentId, configId } = row;
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { healthPath: true } });
  const settings = await loadSettings(ctx, configId);
  const newest = await tx.release.findFirst({
    where: { appId, organizationId },
    select: { number: true },
    orderBy: { number: 'desc' },
  });
  const sentence = await syncRepositoryPlan(ctx, { appId, environmentId, content: artifact.benchmarkPlan });
  const { sentences } = artifact.plan;
  const id = newId('rel');
  await tx.release.create({
    data: {
      id,
      organizationId,
      appId,
      environmentId,
      configId,
      number: (newest?.number ?? 0) + 1,
      commitHash: commit.hash,
      commitSubject: commit.subject,
      commitAuthor: commit.author,
      committedAt: commit.committedAt,
      artifactDigest: artifact.digest,
      artifactSizeBytes: artifact.sizeBytes,
      artifactKind: artifact.kind,
      builtOnServerId: row.buildServerId,
      runtime: artifact.runtime,
      command: [...artifact.command],
      healthPath: app.healthPath || artifact.healthPath,
      plan: {
        ...artifact.plan,
        sentences: sentence === null ? sentences : [...sentences, clipText(sentence, 500)],
      },
      origin: {
        ...row.origin,
        commit: commit.branch === null ? '' : commit.hash,
        branch: commit.branch || row.origin.branch,
      },
      secretSnapshotId: facts.secretSnapshotId ?? null,
      createdAt: ctx.clock.now(),
    },
  });
  await recordVolumes(ctx, row, settings.volumes);
  return id;
}

/**
 * Records volumes with the release, so that they are known before a server reports them, and also if the app is
 * deleted.
 */
async function recordVolumes(
  ctx: OrganizationCtx,
  { appId, environmentId }: DeploymentRow,
  volumes: readonly { readonly name: string }[],
): Promise<void> {
  if (volumes.length === 0) return;
  const { tx, organizationId } = ctx;
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { name: true } });
  const environment = await tx.environment.findFirstOrThrow({
    where: { id: environmentId, organizationId },
    select: { name: true },
  });
  await tx.volume.createMany({
    data: volumes.map(({ name }) => ({
      id: newId('vol'),
      organizationId,
      appId,
      environmentId,
      name,
      label: `${app.name} · ${environment.name}`,
      createdAt: ctx.clock.now(),
    })),
    skipDuplicates: true,
  });
  // The release uses these volumes again, so a requested deletion is cancelled.
  await tx.volume.updateMany({
    where: { organizationId, appId, environmentId, name: { in: volumes.map(({ name }) => name) }, releasedAt: null },
    data: { deleteAt: null },
  });
}
