// Records why the secrets of apps can't be sealed to their server, and the pages of these apps show it. The server itself
// knows only that a start fails.
import { parseId } from '@fairlead/contract/ids';
import { AppError, forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';
import type { SecretsProblem } from '../secret/index.ts';
import { bumpServer } from '../server/index.ts';

export interface PlacementSecretsProblem {
  readonly appId: string;
  readonly environmentId: string;
  /** Null: the secrets reach the server. */
  readonly problem: SecretsProblem | null;
}

export interface RecordSecretsProblemsInput {
  readonly serverId: string;
  readonly problems: readonly PlacementSecretsProblem[];
}

/**
 * Records the problems that a render found. Returns true if secrets reach their server again. The server then has a new
 * desired version, because an agent ignores the version that it already holds.
 */
export async function recordSecretsProblems(ctx: SystemCtx, input: RecordSecretsProblemsInput): Promise<boolean> {
  const { serverId, problems } = input;
  const server = await ctx.tx.server.findFirst({ where: { id: serverId }, select: { organizationId: true } });
  if (server === null) throw new AppError('server.not_found', { serverId });
  const { organizationId } = server;
  const scoped = forOrganization(ctx, parseId('org', organizationId));
  let recovered = false;
  for (const { appId, environmentId, problem: secretsProblem } of problems) {
    const changed = await ctx.tx.$executeRaw`
      UPDATE placement_server SET secrets_problem = ${secretsProblem}
      FROM placement
      WHERE placement.id = placement_server.placement_id AND placement_server.organization_id = ${organizationId}
        AND placement_server.server_id = ${serverId} AND placement.app_id = ${appId}
        AND placement.environment_id = ${environmentId}
        AND placement_server.secrets_problem IS DISTINCT FROM ${secretsProblem}`;
    if (changed === 0) continue;
    recovered ||= secretsProblem === null;
    await notifyChange(scoped, { kind: 'app', id: appId, appId });
  }
  if (recovered) await bumpServer(scoped, serverId);
  return recovered;
}
