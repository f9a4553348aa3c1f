// Updates an app's settings.
// Invariant: it never touches a release; they are immutable.
import { parseId } from '@fairlead/contract/ids';
import { changedFields, recordAudit } from '../audit/index.ts';
import { requireNothingInReview } from '../deployment/index.ts';
import { removeLink } from '../github/index.ts';
import { AppError, type Ctx, notifyChange, withDeletedApps } from '../kernel/index.ts';
import type { AppIdentity, UpdateAppInput } from './schema.ts';

/** Changes settings. What runs is untouched: releases are immutable, so the next deployment brings them in. */
export async function updateApp(ctx: Ctx, input: UpdateAppInput): Promise<AppIdentity> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId, branch, ...changes } = input;
  const app = await tx.app.findFirst({
    where: { id: appId, organizationId },
    select: {
      slug: true,
      name: true,
      repositoryUrl: true,
      rootFolder: true,
      healthPath: true,
      command: true,
      placements: {
        where: environmentId === undefined ? { isPrimary: true } : { environmentId, servers: { some: {} } },
        select: { id: true, branch: true },
      },
    },
  });
  const placement = app?.placements[0];
  if (app === null || placement === undefined) throw new AppError('app.not_found', { appId });
  if (changes.name !== undefined) {
    const named = { organizationId, name: changes.name, NOT: { id: appId } };
    const other = await withDeletedApps(ctx, () => tx.app.findFirst({ where: named, select: { id: true } }));
    if (other !== null) throw new AppError('app.name_taken', { name: changes.name });
  }
  if (changesWhatRuns(app, changes)) await requireNothingInReview(ctx, { appId });
  await tx.app.update({
    where: { id: appId },
    data: {
      ...(changes.name === undefined ? {} : { name: changes.name }),
      ...(changes.repositoryUrl === undefined ? {} : { repositoryUrl: changes.repositoryUrl }),
      ...(changes.rootFolder === undefined ? {} : { rootFolder: changes.rootFolder }),
      ...(changes.healthPath === undefined ? {} : { healthPath: changes.healthPath }),
      ...(changes.command === undefined ? {} : { command: changes.command }),
    },
  });
  // The token of a GitHub App is for its own repository.
  if (changes.repositoryUrl !== undefined && changes.repositoryUrl !== app.repositoryUrl) await removeLink(ctx, appId);
  if (branch !== undefined) {
    await tx.placement.updateMany({ where: { id: placement.id, organizationId }, data: { branch } });
  }
  const { slug, placements: _, ...settings } = app;
  await recordAudit(ctx, {
    action: 'app.update',
    target: { kind: 'app', id: appId, label: changes.name ?? app.name },
    ...changedFields({ ...settings, branch: placement.branch }, { ...changes, branch }),
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { id: parseId('app', appId), slug };
}

const whatRuns = ['repositoryUrl', 'rootFolder', 'healthPath', 'command'] as const;
type WhatRuns = Pick<UpdateAppInput, (typeof whatRuns)[number]>;

function changesWhatRuns(app: Required<WhatRuns>, changes: WhatRuns): boolean {
  return whatRuns.some(
    (name) => changes[name] !== undefined && JSON.stringify(changes[name]) !== JSON.stringify(app[name]),
  );
}
