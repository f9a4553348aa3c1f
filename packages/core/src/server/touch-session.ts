// Records that a server is alive, with every answered ping.
import { AppError, type SystemCtx } from '../kernel/index.ts';

export interface TouchSessionInput {
  readonly serverId: string;
  readonly connection: string;
  /** Agent clock minus ours, for metrics. Small changes are ignored. */
  readonly clockOffsetMs: number;
  /** Agent clock minus ours as measured, and its uncertainty in both directions. */
  readonly clockOffsetUs: number;
  readonly clockUncertaintyUs: number;
}

/** Throws link.replaced when another connection holds the agent by now, link.server_unknown when the server was deleted. */
export async function touchSession(ctx: SystemCtx, input: TouchSessionInput): Promise<void> {
  const { serverId, connection } = input;
  const { count } = await ctx.tx.server.updateMany({
    where: { id: serverId, connectedGateway: connection },
    data: {
      lastSeenAt: ctx.clock.now(),
      clockOffsetMs: clampInt(input.clockOffsetMs),
      clockOffsetUs: BigInt(clamp(input.clockOffsetUs, Number.MAX_SAFE_INTEGER)),
      clockUncertaintyUs: clampInt(input.clockUncertaintyUs),
      clockMeasuredAt: ctx.clock.now(),
    },
  });
  if (count > 0) return;
  const server = await ctx.tx.server.findUnique({ where: { id: serverId }, select: { id: true } });
  throw new AppError(server === null ? 'link.server_unknown' : 'link.replaced', { serverId });
}

/** An agent's clock may be decades off; the column holds 24 days, which is enough. */
function clampInt(value: number): number {
  return clamp(value, 2 ** 31 - 1);
}

/** An agent may send any number of 64 bits, which is more than a signed column holds. */
function clamp(value: number, max: number): number {
  return Math.min(Math.max(Math.round(value), -max), max);
}
