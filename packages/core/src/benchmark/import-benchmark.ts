// Imports a run that was measured elsewhere, as a finished run of an app.
// Invariant: an imported run keeps the facts of its origin and has no server, so that it never counts as measured here.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { lockApps, requirePlacement } from '../placement/index.ts';
import { hashRun, type ImportBenchmarkInput, type ImportedBenchmark } from './import-document.ts';

/** Returns the existing run for a document that the app already has in the environment. Throws app.not_found. */
export async function importBenchmark(ctx: Ctx, input: ImportBenchmarkInput): Promise<ImportedBenchmark> {
  const { tx, organizationId } = ctx;
  const { document: run } = input;
  const { appId, appName, environmentId } = await requirePlacement(ctx, input);
  await lockApps(ctx, [appId]);
  const importHash = hashRun(run);
  const existing = await tx.benchmarkRun.findFirst({
    where: { organizationId, appId, environmentId, importHash },
    select: { id: true },
  });
  if (existing !== null) return { runId: parseId('run', existing.id), isNew: false };

  const runId = newId('run');
  await tx.benchmarkRun.create({
    data: {
      id: runId,
      organizationId,
      appId,
      environmentId,
      state: 'succeeded',
      plan: run.plan,
      ...(run.facts === null ? {} : { facts: run.facts }),
      programs: [...run.programs],
      rowsDone: run.rows.length,
      rowsTotal: run.rows.length,
      importHash,
      origin: { runId: run.runId, createdAt: run.createdAt },
      actorUserId: actorUserId(ctx.actor),
      createdAt: ctx.clock.now(),
      startedAt: run.startedAt,
      finishedAt: run.finishedAt,
    },
  });
  await tx.benchmarkRow.createMany({
    data: run.rows.map((row) => ({ ...row, id: newId('row'), organizationId, runId })),
  });
  await recordAudit(ctx, {
    action: 'benchmark.import',
    target: { kind: 'benchmark', id: runId, label: appName },
    after: { appId, environmentId, originRunId: run.runId, rows: run.rows.length, sha256: importHash },
  });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId });
  return { runId, isNew: true };
}
