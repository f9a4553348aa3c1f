// Deletes an app's logs. Objects are outside of every transaction: they are listed while the index exists, and deleted
// once its deletion is committed. A crash in between leaves unreferenced objects, never the reverse.
import { type Ctx, type SystemCtx, withDeletedApps } from '../kernel/index.ts';
import type { LogStore } from './store.ts';

const atOnce = 16;

/** The objects of all deployments of an app. */
export async function listAppLogs(ctx: Ctx, input: { readonly appId: string }): Promise<string[]> {
  const rows = await ctx.tx.logChunk.findMany({
    where: { organizationId: ctx.organizationId, deployment: { appId: input.appId } },
    select: { objectKey: true },
  });
  return rows.map(({ objectKey }) => objectKey);
}

/** The same of an environment, also of deleted apps. */
export async function listEnvironmentLogs(
  ctx: Ctx,
  { environmentId }: { readonly environmentId: string },
): Promise<string[]> {
  const where = { organizationId: ctx.organizationId, deployment: { environmentId } };
  const rows = await withDeletedApps(ctx, () => ctx.tx.logChunk.findMany({ where, select: { objectKey: true } }));
  return rows.map(({ objectKey }) => objectKey);
}

/** The same of single deployments. System scope. */
export async function listDeploymentLogs({ tx }: SystemCtx, deploymentIds: readonly string[]): Promise<string[]> {
  const rows = await tx.logChunk.findMany({
    where: { deploymentId: { in: [...deploymentIds] } },
    select: { objectKey: true },
  });
  return rows.map(({ objectKey }) => objectKey);
}

export async function deleteLogs(store: LogStore, objectKeys: readonly string[]): Promise<void> {
  for (let from = 0; from < objectKeys.length; from += atOnce) {
    await Promise.all(objectKeys.slice(from, from + atOnce).map((key) => store.delete(key)));
  }
}
