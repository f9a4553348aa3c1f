// Checks the setup token before an account is made.
import { AppError, hashToken, type SystemCtx } from '../kernel/index.ts';

/** Throws unless the token may still be claimed, so that no account is made without one. */
export async function requireSetupToken(ctx: SystemCtx, input: { readonly token: string }): Promise<void> {
  const row = await ctx.tx.setupToken.findFirst({
    where: { tokenHash: hashToken(input.token), usedAt: null },
    select: { id: true },
  });
  if (row === null) throw new AppError('setup.token_invalid');
}
