// Moves an app to another project, with all its rows.
// Invariant: a move never loses or shares data. Volumes block it, because servers store them by environment. Shared secrets
// and hosts block it, because other apps use them too.
import { parseId } from '@fairlead/contract/ids';
import { moveMetricsJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import { recordAudit } from '../audit/index.ts';
import { endBenchmarks } from '../benchmark/index.ts';
import { findProtected } from '../deployment/index.ts';
import { lockHosts } from '../domain/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';
import { may, permissionSchema, type Rights, type Scope } from '../role/index.ts';
import { bumpServer } from '../server/index.ts';
import { type LoadedMove, loadMove, moveRows } from './move-store.ts';
import type { AppIdentity, AppMove, GetAppMoveInput, MoveAppInput } from './schema.ts';

/** Returns the environments that a move must map, and everything that blocks the move. */
export async function getAppMove(ctx: Ctx, { appId }: GetAppMoveInput): Promise<AppMove> {
  const { environments, secretGroups, volumes, sharedHosts, underWay } = await loadMove(ctx, appId);
  return { environments, secretGroups, volumes, sharedHosts, underWay };
}

/**
 * Moves an app into environments of another project, one for each environment that has rows of it. Its instances restart
 * under the new environments. `by`: the rights of the caller.
 */
export async function moveApp(ctx: Ctx, input: MoveAppInput, by: Rights): Promise<AppIdentity> {
  const { tx, organizationId } = ctx;
  const { appId, projectId, environments } = input;
  await lockApps(ctx, [appId]);
  const domains = await tx.domain.findMany({ where: { appId, organizationId }, select: { host: true } });
  await lockHosts(
    ctx,
    domains.map(({ host }) => host),
  );
  const move = await loadMove(ctx, appId);
  // A deletion of the project waits until the app is there, and then finds it.
  const [target] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM project WHERE id = ${projectId} AND organization_id = ${organizationId} FOR KEY SHARE`;
  if (target === undefined) throw new AppError('project.not_found', { projectId });
  if (move.projectId === projectId) throw new AppError('app.in_project', { appId, projectId });
  const targets = await requireMapping(ctx, move, input);
  requireMovable(move, appId);
  const previews = { appId, organizationId, environmentId: { not: null } };
  if ((await tx.preview.count({ where: previews })) > 0) throw new AppError('app.move_previews', { appId });
  requireNoGain(by, move.projectId, input);
  await requireHostsProtectedAlike(ctx, input);

  await endBenchmarks(ctx, { appId });
  for (const { from, to } of environments) await moveRows(ctx, { appId, from, to });
  const { slug } = await tx.app.update({ where: { id: appId }, data: { projectId }, select: { slug: true } });
  for (const serverId of await serversOf(ctx, appId)) await bumpServer(ctx, serverId);
  const payload = { organizationId, appId, environments };
  await enqueue(tx, moveMetricsJob, payload, { queue: moveMetricsJob.name });
  const nameOf = (id: string) => targets.get(id) ?? id;
  await recordAudit(ctx, {
    action: 'app.move',
    target: { kind: 'app', id: appId, label: move.appName },
    before: { projectId: move.projectId, environments: move.environments.map((each) => each.environmentName) },
    after: {
      projectId,
      environments: move.environments.map(({ environmentId }) =>
        nameOf(environments.find(({ from }) => from === environmentId)?.to ?? ''),
      ),
    },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  ctx.log.info({ appId, from: move.projectId, to: projectId, actor: ctx.actor }, 'moved an app to another project');
  return { id: parseId('app', appId), slug };
}

/** Returns the names of the target environments. Throws environment.not_found and app.move_incomplete. */
async function requireMapping(
  { tx, organizationId }: Ctx,
  move: LoadedMove,
  { appId, projectId, environments }: MoveAppInput,
): Promise<ReadonlyMap<string, string>> {
  const [froms, tos] = [environments.map(({ from }) => from), environments.map(({ to }) => to)];
  const known = await tx.environment.findMany({
    where: { organizationId, projectId, id: { in: tos } },
    select: { id: true, name: true },
  });
  const missing = tos.find((to) => known.every(({ id }) => id !== to));
  if (missing !== undefined) throw new AppError('environment.not_found', { environmentId: missing });
  const isWhole =
    new Set(tos).size === environments.length &&
    new Set(froms).size === environments.length &&
    move.environments.length === environments.length &&
    move.environments.every(({ environmentId }) => froms.includes(environmentId));
  if (!isWhole) throw new AppError('app.move_incomplete', { appId });
  return new Map(known.map(({ id, name }) => [id, name]));
}

function requireMovable({ secretGroups, volumes, sharedHosts, underWay }: LoadedMove, appId: string): void {
  if (underWay) throw new AppError('app.move_under_way', { appId });
  if (secretGroups.length > 0) throw new AppError('app.move_groups', { appId, groups: secretGroups });
  if (volumes.length > 0) throw new AppError('app.move_volumes', { appId, volumes });
  if (sharedHosts.length > 0) throw new AppError('app.move_hosts', { appId, hosts: sharedHosts });
}

/** Throws if the move gives the caller a new permission on the app, such as to reveal its secrets. */
function requireNoGain(by: Rights, projectId: string, input: MoveAppInput): void {
  const scopes = [
    { old: { projectId, environmentId: null }, next: { projectId: input.projectId, environmentId: null } },
    ...input.environments.map(({ from, to }) => ({
      old: { projectId, environmentId: from },
      next: { projectId: input.projectId, environmentId: to },
    })),
  ] satisfies { old: Scope; next: Scope }[];
  for (const { old, next } of scopes) {
    const gained = permissionSchema.options.find(
      (permission) => may(by, permission, next) && !may(by, permission, old),
    );
    if (gained !== undefined) throw new AppError('app.move_beyond_own', { permission: gained });
  }
}

/** Throws if a host of the app would lead to both protected and unprotected environments. */
async function requireHostsProtectedAlike(ctx: Ctx, { appId, environments }: MoveAppInput): Promise<void> {
  const isProtected = new Set(
    (
      await findProtected(
        ctx,
        environments.map(({ to }) => to),
      )
    ).map(({ id }) => id),
  );
  const domains = await ctx.tx.domain.findMany({
    where: { appId, organizationId: ctx.organizationId },
    select: { host: true, environmentId: true },
    orderBy: { host: 'asc' },
  });
  const isProtectedAfter = (environmentId: string) =>
    isProtected.has(environments.find(({ from }) => from === environmentId)?.to ?? parseId('env', environmentId));
  for (const [host, group] of Map.groupBy(domains, (domain) => domain.host)) {
    const sides = new Set(group.map(({ environmentId }) => isProtectedAfter(environmentId)));
    if (sides.size > 1) throw new AppError('domain.protection_differs', { host });
  }
}

/** Returns server ids in the order in which every transaction locks them. */
async function serversOf({ tx, organizationId }: Ctx, appId: string): Promise<string[]> {
  const rows = await tx.placementServer.findMany({
    where: { placement: { appId }, organizationId },
    select: { serverId: true },
  });
  return [...new Set(rows.map(({ serverId }) => serverId))].sort();
}
