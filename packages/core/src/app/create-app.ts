// Creates an app: its row, its placement, its first domain.
// Invariant: it never deploys by itself.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { createDeployment } from '../deployment/index.ts';
import { createRoute, type HostPolicy, isReservedHost } from '../domain/index.ts';
import { AppError, type Ctx, isUniqueViolation, notifyChange, toSlug } from '../kernel/index.ts';
import { createPlacement } from '../placement/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { bumpServer } from '../server/index.ts';
import { pickSlug } from './rules.ts';
import type { CreateAppInput, CreatedApp } from './schema.ts';

/**
 * Creates an app with its first domain, and deploys it if requested. `reach`: scopes where the caller may write
 * domains.
 */
export async function createApp(
  ctx: Ctx,
  input: CreateAppInput,
  policy: HostPolicy,
  reach: Reach = wholeReach,
): Promise<CreatedApp> {
  const { tx, organizationId } = ctx;
  if (input.host !== undefined && isReservedHost(input.host, policy)) {
    throw new AppError('domain.reserved', { host: input.host });
  }
  const environment = await tx.environment.findFirst({
    where: { organizationId, ...(input.environmentId === undefined ? {} : { id: input.environmentId }) },
    select: { id: true, projectId: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (environment === null) throw new AppError('environment.not_found', { environmentId: input.environmentId });
  const repositoryUrl = input.repositoryUrl ?? '';

  const id = newId('app');
  const now = ctx.clock.now();
  const slug = await freeSlug(ctx, input.name);
  try {
    await tx.app.create({
      data: {
        id,
        organizationId,
        projectId: environment.projectId,
        name: input.name,
        slug,
        repositoryUrl,
        rootFolder: input.rootFolder,
        command: input.command,
        healthPath: input.healthPath,
        createdAt: now,
      },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('app.name_taken', { name: input.name }, { cause: error });
    throw error;
  }
  await createPlacement(ctx, {
    appId: id,
    environmentId: environment.id,
    branch: input.branch,
    isPrimary: true,
    serverIds: [input.serverId],
  });
  const { host } = input;
  if (host !== undefined) {
    await createRoute(ctx, { appId: id, environmentId: environment.id, host, pathPrefix: '/' }, reach);
  }
  await recordAudit(ctx, {
    action: 'app.create',
    target: { kind: 'app', id, label: input.name },
    after: {
      name: input.name,
      slug,
      environmentId: environment.id,
      repositoryUrl,
      branch: input.branch,
      rootFolder: input.rootFolder,
      healthPath: input.healthPath,
      command: input.command,
      serverId: input.serverId,
      host: input.host ?? null,
    },
  });
  const deployment = input.deployNow ? await createDeployment(ctx, { appId: id }) : null;
  if (input.host !== undefined) await bumpServer(ctx, input.serverId);
  await notifyChange(ctx, { kind: 'app', id, appId: id });
  ctx.log.info({ appId: id, slug, actor: ctx.actor }, 'created an app');
  return { id, slug, deploymentId: deployment?.deploymentId ?? null };
}

async function freeSlug(ctx: Ctx, name: string): Promise<string> {
  const wanted = toSlug(name) || 'app';
  const rows = await ctx.tx.app.findMany({
    where: { organizationId: ctx.organizationId, OR: [{ slug: { startsWith: wanted } }, { name }] },
    select: { slug: true, name: true },
  });
  if (rows.some((row) => row.name === name)) throw new AppError('app.name_taken', { name });
  return pickSlug(wanted, new Set(rows.map(({ slug }) => slug)));
}
