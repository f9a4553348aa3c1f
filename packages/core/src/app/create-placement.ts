// Places an app in an environment, on its primary server there.
import { type AppId, type EnvironmentId, newId, type ServerId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';

export interface NewPlacement {
  readonly appId: AppId;
  readonly environmentId: EnvironmentId;
  readonly serverId: string;
  readonly branch: string;
  readonly instances?: number;
}

export async function createPlacement({ tx, organizationId, clock }: Ctx, placement: NewPlacement): Promise<void> {
  await tx.placement.create({ data: { ...placement, id: newId('plc'), organizationId, createdAt: clock.now() } });
}

/** Throws server.not_found for the first that the organization does not have. */
export async function requireServers({ tx, organizationId }: Ctx, serverIds: readonly ServerId[]): Promise<void> {
  const rows = await tx.server.findMany({
    where: { organizationId, id: { in: [...serverIds] } },
    select: { id: true },
  });
  const missing = serverIds.find((serverId) => !rows.some(({ id }) => id === serverId));
  if (missing !== undefined) throw new AppError('server.not_found', { serverId: missing });
}
