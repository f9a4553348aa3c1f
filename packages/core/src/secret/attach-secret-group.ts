// Attaches a secret group to an app, and detaches it.
import type { AuditAction } from '@fairlead/contract/audit-actions';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { SecretGroupAppInput } from './schema.ts';
import { lockShelf } from './store.ts';

/**
 * Takes effect with the next deployment. Groups belong to a project: another project's gives the same answer as a
 * missing one.
 */
export async function attachSecretGroup(ctx: Ctx, input: SecretGroupAppInput): Promise<SecretGroupAppInput> {
  const group = await change(ctx, input);
  const { appId, groupId } = input;
  await ctx.tx.secretGroupApp.createMany({
    data: [{ organizationId: ctx.organizationId, groupId, appId, createdAt: ctx.clock.now() }],
    skipDuplicates: true,
  });
  await record(ctx, 'secret.attach_group', input, group);
  return input;
}

/** Counts from the next deployment on. */
export async function detachSecretGroup(ctx: Ctx, input: SecretGroupAppInput): Promise<SecretGroupAppInput> {
  const group = await change(ctx, input);
  const { appId, groupId } = input;
  await ctx.tx.secretGroupApp.deleteMany({ where: { organizationId: ctx.organizationId, groupId, appId } });
  await record(ctx, 'secret.detach_group', input, group);
  return input;
}

async function change(ctx: Ctx, { appId, groupId }: SecretGroupAppInput): Promise<{ name: string }> {
  const { organizationId } = ctx;
  await lockShelf(ctx, { groupId });
  // Takes the lock of a move, so that no app gets a group of a project that it is leaving.
  const [app] = await ctx.tx.$queryRaw<{ projectId: string }[]>`
    SELECT project_id AS "projectId" FROM app WHERE id = ${appId} AND organization_id = ${organizationId} FOR SHARE`;
  if (app === undefined) throw new AppError('app.not_found', { appId });
  const group = await ctx.tx.secretGroup.findFirst({
    where: { id: groupId, organizationId, projectId: app.projectId },
    select: { name: true },
  });
  if (group === null) throw new AppError('secret.group_not_found', { groupId });
  return group;
}

async function record(ctx: Ctx, action: AuditAction, { appId, groupId }: SecretGroupAppInput, group: { name: string }) {
  await recordAudit(ctx, {
    action,
    target: { kind: 'secret_group', id: groupId, label: group.name },
    after: { app: appId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
}
