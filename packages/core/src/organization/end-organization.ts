// Deletes organizations after their delay, in steps that may each run twice. It deletes the apps first, so that the
// servers learn to run nothing. Then it deletes the servers and the organization. Logs are outside of the database.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { purgeApp } from '../app/index.ts';
import { recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange, type SystemCtx, withDeletedApps } from '../kernel/index.ts';
import { emptyingMs } from './rules.ts';

/**
 * Marks organizations at the end of their delay, which makes the deletion final, and returns all that are being deleted.
 */
export async function claimEndingOrganizations(ctx: SystemCtx): Promise<OrganizationId[]> {
  const now = ctx.clock.now();
  const begun = await ctx.tx.organization.updateManyAndReturn({
    where: { deleteAt: { lte: now }, endingAt: null },
    data: { endingAt: now },
    select: { id: true, name: true },
  });
  for (const { id, name } of begun) {
    const organizationId = parseId('org', id);
    await recordAudit(
      { ...ctx, organizationId, actor: { kind: 'system', reason: 'organization.sweep' } },
      { action: 'organization.end', target: { kind: 'organization', id, label: name }, after: { ended: true } },
    );
    ctx.log.info({ organizationId }, 'the end of an organization begins');
  }
  const ending = await ctx.tx.organization.findMany({
    where: { endingAt: { not: null } },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  return ending.map(({ id }) => parseId('org', id));
}

/** Deletes one app; null if none was left. Returns the objects of its logs, to be deleted after the commit. */
export function emptyOrganization(ctx: Ctx): Promise<readonly string[] | null> {
  return withDeletedApps(ctx, () => purgeNextApp(ctx));
}

async function purgeNextApp(ctx: Ctx): Promise<readonly string[] | null> {
  const app = await ctx.tx.app.findFirst({
    where: { organizationId: ctx.organizationId },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  if (app === null) return null;
  return (await purgeApp(ctx, { appId: parseId('app', app.id) })).objectKeys;
}

/**
 * Deletes the organization with all its rows once every server has reported that it runs nothing, or its time is over.
 * False: a server has not, so it is tried again later.
 */
export async function endOrganization(ctx: SystemCtx, input: { organizationId: OrganizationId }): Promise<boolean> {
  const { organizationId } = input;
  const organization = await ctx.tx.organization.findFirst({
    where: { id: organizationId, endingAt: { not: null } },
    select: { endingAt: true, servers: true, _count: { select: { apps: true } } },
  });
  if (organization === null || organization.endingAt === null || organization._count.apps > 0) return false;
  const hadTime = ctx.clock.now().getTime() - organization.endingAt.getTime() >= emptyingMs;
  const behind = organization.servers.filter(
    (server) => server.appliedEpoch !== server.desiredEpoch || server.appliedNumber !== server.desiredNumber,
  );
  if (behind.length > 0 && !hadTime) return false;
  await notifyChange({ ...ctx, organizationId }, { kind: 'organization', id: organizationId });
  await ctx.tx.organization.delete({ where: { id: organizationId } });
  ctx.log.info({ organizationId, serversBehind: behind.length }, 'an organization has ended');
  return true;
}
