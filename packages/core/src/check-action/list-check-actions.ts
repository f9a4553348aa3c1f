// Buttons of a check run: rollback of a live deployment, and promotion of its release to other environments.
import { createHash } from 'node:crypto';
import { type AppId, type EnvironmentId, parseId, type ReleaseId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';

export interface CheckAction {
  readonly identifier: string;
  readonly label: string;
  readonly description: string;
}

/** Limits of GitHub: three buttons, and the lengths of their texts. */
const targetsMax = 2;
const labelMax = 20;
const descriptionMax = 40;

export interface CheckedDeployment {
  readonly appId: AppId;
  readonly environmentId: EnvironmentId;
  readonly number: number;
  readonly state: string;
  readonly releaseId: ReleaseId | null;
}

/** Returns none for a deployment that is not live. */
export async function listCheckActions(
  ctx: OrganizationCtx,
  { deploymentId }: { readonly deploymentId: string },
): Promise<CheckAction[]> {
  const row = await ctx.tx.deployment.findFirst({
    where: { id: deploymentId, organizationId: ctx.organizationId, state: 'live' },
    select: { appId: true, environmentId: true, number: true, state: true, releaseId: true },
  });
  if (row === null || row.releaseId === null) return [];
  const deployment: CheckedDeployment = {
    ...row,
    appId: parseId('app', row.appId),
    environmentId: parseId('env', row.environmentId),
    releaseId: parseId('rel', row.releaseId),
  };
  const targets = await listPromotionTargets(ctx, deployment);
  const promotions = targets.slice(0, targetsMax).map(({ environmentId, name }) => ({
    identifier: promotionIdentifier(environmentId),
    label: clip(targets.length === 1 ? 'Promote' : `Promote to ${name}`, labelMax),
    description: clip(`Release this to ${name}`, descriptionMax),
  }));
  if ((await findReleaseBefore(ctx, deployment)) === null) return promotions;
  return [
    { identifier: 'rollback', label: 'Rollback', description: 'Restore the release that was live before' },
    ...promotions,
  ];
}

/** Returns the release that was live before a deployment, in its environment. */
export async function findReleaseBefore(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId, number, releaseId }: CheckedDeployment,
): Promise<ReleaseId | null> {
  const before = await tx.deployment.findFirst({
    where: {
      organizationId,
      appId,
      environmentId,
      state: 'live',
      number: { lt: number },
      releaseId: { not: null },
      NOT: { releaseId },
    },
    select: { releaseId: true },
    orderBy: { number: 'desc' },
  });
  return before === null || before.releaseId === null ? null : parseId('rel', before.releaseId);
}

export interface PromotionTarget {
  readonly environmentId: EnvironmentId;
  readonly name: string;
}

/** Lists environments to promote a release to: the other ones of the app, unless it is in the primary one. */
export async function listPromotionTargets(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: Pick<CheckedDeployment, 'appId' | 'environmentId'>,
): Promise<PromotionTarget[]> {
  const placements = await tx.placement.findMany({
    // Leaves previews out: their code was not reviewed, and they follow only their pull request.
    where: { organizationId, appId, servers: { some: {} }, environment: { kind: 'standard' } },
    select: { environmentId: true, isPrimary: true, environment: { select: { name: true } } },
    orderBy: [{ isPrimary: 'desc' }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  const own = placements.find((each) => each.environmentId === environmentId);
  if (own === undefined || own.isPrimary) return [];
  return placements
    .filter((each) => each.environmentId !== environmentId)
    .map((each) => ({ environmentId: parseId('env', each.environmentId), name: each.environment.name }));
}

/** Returns the identifier of a button for an environment, within GitHub's limit of 20 characters. */
export function promotionIdentifier(environmentId: string): string {
  return `promote-${createHash('sha256').update(environmentId).digest('hex').slice(0, 12)}`;
}

function clip(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
