// Fails a distributed run that waits for one of its servers too long, and names that server. It runs, or is the next of all.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { forOrganization, type SystemCtx } from '../kernel/index.ts';
import { isConnected } from '../server/index.ts';
import { failRun } from './record-part.ts';
import { storedPlanSchema } from './schema.ts';

/** Time for which a server may have no connection: its agent connects again within seconds. */
const AWAY_MAX_MS = 15_000;
/** Time in which all servers get ready: an agent waits two minutes for its connections. */
const READY_MAX_MS = 180_000;
/** Time from the end of a row to the last report of it. */
const REPORT_MAX_MS = 60_000;

/** Returns true if the run failed. */
export async function failStalledRun(
  ctx: SystemCtx,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
): Promise<boolean> {
  const scope = forOrganization(ctx, parseId('org', organizationId));
  const run = await ctx.tx.benchmarkRun.findFirst({
    where: { id, organizationId, state: { in: ['queued', 'running'] } },
    include: { servers: { orderBy: { position: 'asc' } }, app: { select: { name: true } } },
  });
  if (run === null || run.servers.length === 0) return false;
  const now = ctx.clock.now();
  const known = await ctx.tx.server.findMany({
    where: { id: { in: run.servers.map(({ serverId }) => serverId) }, organizationId },
    select: { id: true, connectedGateway: true, lastSeenAt: true },
  });
  const away = run.servers.filter(({ serverId }) => {
    const server = known.find((each) => each.id === serverId);
    if (server === undefined) return true;
    const silentMs = now.getTime() - (server.lastSeenAt?.getTime() ?? 0);
    return !isConnected(server, now) && silentMs > AWAY_MAX_MS;
  });
  const { loadRow, loadStartAt, loadStepAt } = run;
  const { durationMs, load } = storedPlanSchema.parse(run.plan);
  const rowMs = Math.max(durationMs, ...load.stages.map((stage) => stage.durationMs));
  const notReady = run.servers.filter(({ rowsReady }) => rowsReady <= loadRow);
  const notEnded = run.servers.filter(({ part }) => part === null);
  const names = (servers: readonly { readonly name: string }[]) => servers.map(({ name }) => name).join(', ');
  const sinceMs = now.getTime() - (loadStepAt ?? run.startedAt ?? now).getTime();
  let reason: string | null = null;
  if (away.length > 0 && run.state === 'queued') reason = `${names(away)}: not connected when the run could start.`;
  else if (away.length > 0) reason = `${names(away)}: lost the connection to the control plane in row ${loadRow + 1}.`;
  else if (run.state === 'queued') return false;
  else if (loadStartAt === null && notReady.length > 0 && sinceMs > READY_MAX_MS) {
    reason = `${names(notReady)}: not ready for row ${loadRow + 1} within ${READY_MAX_MS / 1000} seconds.`;
  } else if (loadStartAt !== null && now.getTime() - loadStartAt.getTime() > rowMs + REPORT_MAX_MS) {
    reason = `${names(notEnded)}: no result of row ${loadRow + 1}.`;
  }
  if (reason === null) return false;
  await failRun(scope, run, reason);
  await recordAudit(
    { ...scope, actor: { kind: 'system', reason: 'a server of a benchmark was lost' } },
    {
      action: 'benchmark.fail',
      target: { kind: 'benchmark', id: run.id, label: run.app.name },
      after: { state: 'failed', failureCode: 'benchmark.load_server_failed' },
    },
  );
  return true;
}
