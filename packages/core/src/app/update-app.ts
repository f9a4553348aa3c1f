// Owns the change of an app's settings. Must never touch a release: they are immutable.
import { parseId } from '@fairlead/contract/ids';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { AppIdentity, UpdateAppInput } from './schema.ts';

/** Changes settings. What runs is untouched: releases are immutable, so the next deployment brings them in. */
export async function updateApp(ctx: Ctx, input: UpdateAppInput): Promise<AppIdentity> {
  const { tx, organizationId } = ctx;
  const { appId, branch, ...changes } = input;
  const app = await tx.app.findFirst({ where: { id: appId, organizationId }, select: { slug: true } });
  if (app === null) throw new AppError('app.not_found', { appId });
  if (changes.name !== undefined) {
    const other = await tx.app.findFirst({
      where: { organizationId, name: changes.name, NOT: { id: appId } },
      select: { id: true },
    });
    if (other !== null) throw new AppError('app.name_taken', { name: changes.name });
  }
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
  if (branch !== undefined) await tx.placement.updateMany({ where: { appId, organizationId }, data: { branch } });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { id: parseId('app', appId), slug: app.slug };
}
