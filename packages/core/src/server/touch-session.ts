// Owns the sign of life of a connected server, written with every answered ping.
import type { SystemCtx } from '../kernel/index.ts';

export interface TouchSessionInput {
  readonly serverId: string;
  readonly connection: string;
  /** Agent clock minus ours. */
  readonly clockOffsetMs: number;
}

/** False when another connection holds the agent by now, or the server was deleted: this one is over. */
export async function touchSession(ctx: SystemCtx, input: TouchSessionInput): Promise<boolean> {
  const { count } = await ctx.tx.server.updateMany({
    where: { id: input.serverId, connectedGateway: input.connection },
    data: { lastSeenAt: ctx.clock.now(), clockOffsetMs: clampInt(input.clockOffsetMs) },
  });
  return count > 0;
}

/** An agent's clock may be decades off; the column holds 24 days, which says enough. */
function clampInt(value: number): number {
  const max = 2 ** 31 - 1;
  return Math.min(Math.max(Math.round(value), -max), max);
}
