// Event of a benchmark's scenario that the control plane carries out while the load runs: a deployment of the live release.
import { type DeploymentId, parseId } from '@fairlead/contract/ids';
import { benchmarkEventSchema, enqueueEvents } from '../benchmark/index.ts';
import { restartApp } from '../deployment/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';

/** Carries out the next due event of a run. Does nothing if none is due, so that it is safe to run twice. */
export async function runBenchmarkEvent(ctx: Ctx, { runId }: { readonly runId: string }): Promise<void> {
  const { tx, organizationId } = ctx;
  const found = await tx.benchmarkRun.findFirst({ where: { id: runId, organizationId }, select: { appId: true } });
  if (found === null) return;
  // Every transaction locks apps before runs. In another order, this could deadlock with the report of a server.
  await lockApps(ctx, [found.appId]);
  await tx.$queryRaw`SELECT id FROM benchmark_run WHERE id = ${runId} AND organization_id = ${organizationId} FOR UPDATE`;
  const run = await tx.benchmarkRun.findFirst({
    where: { id: runId, organizationId, state: 'running' },
    select: { appId: true, environmentId: true, events: true, eventsDue: true },
  });
  if (run === null) return;
  const events = benchmarkEventSchema.array().parse(run.events);
  if (events.length >= run.eventsDue) return;
  const placement = { appId: parseId('app', run.appId), environmentId: parseId('env', run.environmentId) };
  let deploymentId: DeploymentId | null = null;
  let problem: string | null = null;
  try {
    ({ deploymentId } = await restartApp(ctx, placement));
  } catch (error) {
    // Every such error comes before the first write. The row is kept and shows why it has no event.
    if (!(error instanceof AppError)) throw error;
    problem = error.message;
  }
  const event = { at: ctx.clock.now().toISOString(), deploymentId, problem };
  await tx.benchmarkRun.updateMany({ where: { id: runId, organizationId }, data: { events: [...events, event] } });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId: run.appId });
  if (events.length + 1 < run.eventsDue) await enqueueEvents(ctx, runId);
}
