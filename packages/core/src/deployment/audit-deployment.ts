// Names deployments in the audit log by their app and number.
import type { AuditAction } from '@fairlead/contract/audit-actions';
import { type AuditFields, recordAudit } from '../audit/index.ts';
import type { Actor, OrganizationCtx } from '../kernel/index.ts';

interface AuditedDeployment {
  readonly id: string;
  readonly appId: string;
  readonly number: number;
  readonly before?: AuditFields;
  readonly after: AuditFields;
}

export async function auditDeployment(
  ctx: OrganizationCtx & { readonly actor: Actor; readonly ip?: string | null },
  action: AuditAction,
  deployment: AuditedDeployment,
): Promise<void> {
  const { id, appId, number, before, after } = deployment;
  const app = await ctx.tx.app.findFirstOrThrow({
    where: { id: appId, organizationId: ctx.organizationId },
    select: { name: true },
  });
  await recordAudit(ctx, {
    action,
    target: { kind: 'deployment', id, label: `${app.name} #${number}` },
    ...(before === undefined ? {} : { before }),
    after: { appId, ...after },
  });
}
