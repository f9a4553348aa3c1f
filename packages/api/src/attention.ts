// Scope of what needs attention for a caller, for the overview and for lists that show one group of it.
import {
  type AttentionFilter,
  type AttentionReach,
  type AttentionScope,
  listAttentionTargets,
} from '@fairlead/core/attention';
import type { Ctx } from '@fairlead/core/kernel';
import type { Access } from './access.ts';
import type { ApiContext } from './context.ts';

type Caller = Pick<ApiContext, 'config'> & { readonly access: Access };

export function attentionReach(access: Access): AttentionReach {
  return {
    apps: access.reach('app.read'),
    deployments: access.reach('deployment.read'),
    approvals: access.reach('deployment.approve'),
    secrets: access.reach('secret.read'),
    domains: access.reach('domain.read'),
    servers: access.may('server.read'),
  };
}

export function attentionScope({ access, config }: Caller): AttentionScope {
  return { reach: attentionReach(access), buildSlots: config.buildSlots };
}

/** Returns the ids that a list shows; undefined without a filter. */
export async function findAttention(
  ctx: Caller & { readonly core: Ctx },
  filter: AttentionFilter | undefined,
): Promise<readonly string[] | undefined> {
  return filter === undefined ? undefined : listAttentionTargets(ctx.core, filter, attentionScope(ctx));
}
