// Tells if set-up is still open, the only fact that strangers may learn.
import type { SystemCtx } from '../kernel/index.ts';

/** True until the first account owns an organization. */
export async function isSetupNeeded(ctx: SystemCtx): Promise<boolean> {
  const member = await ctx.tx.member.findFirst({ select: { id: true } });
  return member === null;
}
