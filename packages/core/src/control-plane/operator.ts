// Context of a person who operates the control plane: system scope with an actor and the organization of their audit log.
import type { OrganizationId } from '@fairlead/contract/ids';
import { type Actor, forOrganization, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';

export interface OperatorCtx extends SystemCtx {
  readonly organizationId: OrganizationId;
  readonly actor: Extract<Actor, { readonly kind: 'member' }>;
  readonly ip: string | null;
}

export function forOperator(ctx: OperatorCtx): OrganizationCtx & Pick<OperatorCtx, 'actor' | 'ip'> {
  return { ...forOrganization(ctx, ctx.organizationId), actor: ctx.actor, ip: ctx.ip };
}
