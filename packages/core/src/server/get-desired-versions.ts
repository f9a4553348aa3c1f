// Returns the versions of servers' desired states.
import type { SystemCtx } from '../kernel/index.ts';

export interface DesiredVersionRow {
  readonly epoch: number;
  readonly number: bigint;
}

/** Returns the version for each server id; deleted servers are missing. */
export async function getDesiredVersions(
  ctx: SystemCtx,
  input: { readonly serverIds: readonly string[] },
): Promise<ReadonlyMap<string, DesiredVersionRow>> {
  const rows = await ctx.tx.server.findMany({
    where: { id: { in: [...input.serverIds] } },
    select: { id: true, desiredEpoch: true, desiredNumber: true },
  });
  return new Map(rows.map((row) => [row.id, { epoch: row.desiredEpoch, number: row.desiredNumber }]));
}
