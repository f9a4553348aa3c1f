// Facts and outcome of a run that ends.
import type { OrganizationCtx } from '../kernel/index.ts';
import { liveReleaseNumber } from './facts.ts';
import { toRowView } from './rules.ts';
import { type BenchmarkOutcome, benchmarkFactsSchema, storedPlanSchema } from './schema.ts';
import { evaluateThresholds, outcomeOf } from './thresholds.ts';

interface EndedRun {
  readonly appId: string;
  readonly environmentId: string;
  readonly serverId: string;
  readonly facts: unknown;
}

/** Returns the facts with the release that is live now, unless the run has none. */
export async function endFactsOf(ctx: OrganizationCtx, { facts, appId, environmentId, serverId }: EndedRun) {
  if (facts === null) return {};
  const endReleaseNumber = await liveReleaseNumber(ctx, { appId, environmentId, serverId });
  return { facts: { ...benchmarkFactsSchema.parse(facts), endReleaseNumber } };
}

export async function outcomeOfRun(
  { tx, organizationId }: OrganizationCtx,
  { id, plan }: { readonly id: string; readonly plan: unknown },
): Promise<BenchmarkOutcome> {
  const { thresholds } = storedPlanSchema.parse(plan);
  if (thresholds.length === 0) return 'none';
  const rows = await tx.benchmarkRow.findMany({ where: { runId: id, organizationId } });
  return outcomeOf('succeeded', evaluateThresholds(thresholds, rows.map(toRowView)));
}
