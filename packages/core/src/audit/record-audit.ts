// Records an audit event: the actor and the change.
// Invariant: it never gets the value of a secret, because events are permanent.
import type { AuditAction } from '@fairlead/contract/audit-actions';
import { newId } from '@fairlead/contract/ids';
import { type Actor, actorUserId, type OrganizationCtx } from '../kernel/index.ts';

/** Fields of the target that changed, by name. */
export type AuditFields = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

export interface AuditEntry {
  readonly action: AuditAction;
  readonly target: { readonly kind: string; readonly id: string; readonly label: string };
  /** Fields before the change; absent if the row was created. */
  readonly before?: AuditFields;
  /** Fields after the change; absent if the row was deleted. */
  readonly after?: AuditFields;
}

/** Records the event in the transaction of its change, so that both commit or neither does. */
export async function recordAudit(
  ctx: OrganizationCtx & { readonly actor: Actor; readonly ip?: string | null },
  entry: AuditEntry,
): Promise<void> {
  const { actor, organizationId } = ctx;
  await ctx.tx.auditEvent.create({
    data: {
      id: newId('aud'),
      organizationId,
      at: ctx.clock.now(),
      actorKind: actor.kind,
      actorId: actorId(actor),
      actorUserId: actorUserId(actor),
      ip: ctx.ip ?? null,
      action: entry.action,
      targetKind: entry.target.kind,
      targetId: entry.target.id,
      targetLabel: entry.target.label,
      ...(entry.before === undefined ? {} : { before: { ...entry.before } }),
      ...(entry.after === undefined ? {} : { after: { ...entry.after } }),
    },
  });
}

/** Those of `after` that differ from `before`, from both sides: what a change of settings writes down. */
export function changedFields(
  before: AuditFields,
  after: Readonly<Record<string, AuditFields[string] | undefined>>,
): { before: AuditFields; after: AuditFields } {
  const changes = {
    before: {} as Record<string, AuditFields[string]>,
    after: {} as Record<string, AuditFields[string]>,
  };
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (value === undefined || old === undefined || JSON.stringify(old) === JSON.stringify(value)) continue;
    changes.before[name] = old;
    changes.after[name] = value;
  }
  return changes;
}

function actorId(actor: Actor): string {
  switch (actor.kind) {
    case 'member':
      return actor.userId;
    case 'token':
      return actor.tokenId;
    case 'agent':
      return actor.serverId;
    case 'system':
      return actor.reason;
  }
}
