// Creates the placement of an app in an environment.
import { newId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';
import { requireOpenServer } from './store.ts';

export interface NewPlacement {
  readonly appId: string;
  readonly environmentId: string;
  readonly branch: string;
  readonly instances?: number;
  readonly isPrimary: boolean;
  /** At least one; the primary server first. */
  readonly serverIds: readonly string[];
}

/**
 * Creates a placement in an environment of the app's project. An app that returns to an environment gets its settings and
 * secrets back. Throws environment.not_found, server.not_found, server.drained and placement.exists. Requires the lock of
 * the app.
 */
export async function createPlacement(ctx: Ctx, input: NewPlacement): Promise<void> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId, branch, instances = 1, isPrimary, serverIds } = input;
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { projectId: true } });
  // A deletion of the environment waits, and then finds the app there.
  const [environment] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM environment
    WHERE id = ${environmentId} AND organization_id = ${organizationId} AND project_id = ${app.projectId} AND kind = 'standard'
    FOR KEY SHARE`;
  if (environment === undefined) throw new AppError('environment.not_found', { environmentId });
  for (const serverId of serverIds) await requireOpenServer(ctx, { serverId });
  const former = await tx.placement.findFirst({
    where: { appId, environmentId, organizationId },
    select: { id: true, _count: { select: { servers: true } } },
  });
  if (former !== null && former._count.servers > 0) {
    throw new AppError('placement.exists', { appId, environmentId });
  }
  const id = former?.id ?? newId('plc');
  const createdAt = ctx.clock.now();
  const settings = { branch, instances, isPrimary, deploysPausedAt: null };
  if (former === null) {
    await tx.placement.create({ data: { id, organizationId, appId, environmentId, ...settings, createdAt } });
  } else {
    await tx.placement.updateMany({ where: { id, organizationId }, data: settings });
  }
  await tx.placementServer.createMany({
    data: serverIds.map((serverId, position) => ({ placementId: id, organizationId, serverId, position, createdAt })),
  });
}
