// Deletes old benchmark runs with their rows, in bounded batches. A published run stays until it is unpublished.
import { retention, type SystemCtx } from '../kernel/index.ts';

const runsMax = 200;

/** Prunes one batch, and returns false if none is left. System scope. */
export async function pruneBenchmarks({ tx }: SystemCtx): Promise<boolean> {
  const count = await tx.$executeRaw`
    DELETE FROM benchmark_run WHERE id IN (
      SELECT old.id FROM placement CROSS JOIN LATERAL (
        SELECT id, state, organization_id FROM benchmark_run AS run
        WHERE run.app_id = placement.app_id AND run.environment_id = placement.environment_id
        ORDER BY created_at DESC, id DESC OFFSET ${retention.benchmarksKept}
      ) AS old
      WHERE old.state NOT IN ('queued', 'running')
        AND NOT EXISTS (
          SELECT FROM benchmark_report AS report
          WHERE report.organization_id = old.organization_id AND report.run_id = old.id)
      LIMIT ${runsMax})`;
  return count === runsMax;
}
