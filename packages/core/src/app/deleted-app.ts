// Locks and reads a deleted app.
import { AppError, type Ctx } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';
import type { AppRef } from './schema.ts';

export interface LockedDeletedApp {
  readonly name: string;
  readonly slug: string;
  readonly purgeAt: Date;
}

/** Throws app.not_deleted. Runs inside `withDeletedApps`. */
export async function lockDeletedApp(ctx: Ctx, { appId }: AppRef): Promise<LockedDeletedApp> {
  await lockApps(ctx, [appId]);
  const row = await ctx.tx.app.findFirst({
    where: { id: appId, organizationId: ctx.organizationId },
    select: { name: true, slug: true, deletion: { select: { purgeAt: true } } },
  });
  if (row === null || row.deletion === null) throw new AppError('app.not_deleted', { appId });
  return { name: row.name, slug: row.slug, purgeAt: row.deletion.purgeAt };
}
