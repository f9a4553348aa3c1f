// Procedures of the first start.
// Invariant: strangers only learn if set-up is still open.
import {
  claimSetup,
  claimSetupInputSchema,
  claimSetupOutputSchema,
  isSetupNeeded,
  requireSetupToken,
  setupStatusSchema,
} from '@fairlead/core/setup';
import type { Database } from '@fairlead/db';
import { inSystemScope } from '../context.ts';
import { publicProcedure, router } from '../procedures.ts';

// Caches that set-up is done: any caller may ask, and it never opens again, so the database need not be queried.
const claimed = new WeakSet<Database>();

export const setupRouter = router({
  status: publicProcedure.output(setupStatusSchema).query(async ({ ctx }) => {
    if (claimed.has(ctx.database)) return { needed: false };
    const needed = await inSystemScope(ctx, 'tell whether set-up is open', isSetupNeeded);
    if (!needed) claimed.add(ctx.database);
    return { needed };
  }),

  claim: publicProcedure
    .input(claimSetupInputSchema)
    .output(claimSetupOutputSchema)
    .mutation(async ({ ctx, input }) => {
      await inSystemScope(ctx, 'check the setup token', (core) => requireSetupToken(core, input));
      const { userId } = await ctx.auth.createAccount(input);
      try {
        return await inSystemScope(ctx, 'make the first account the owner', (core) =>
          claimSetup(core, { token: input.token, userId, ip: ctx.ip }),
        );
      } catch (error) {
        // Somebody else was faster. An account without the organization it was made for would only block its address.
        await ctx.auth.deleteAccount({ userId });
        throw error;
      }
    }),
});
