// Owns the procedures of the first start. Must never answer more to strangers than whether set-up is still open.
import {
  claimSetup,
  claimSetupInputSchema,
  claimSetupOutputSchema,
  isSetupNeeded,
  setupStatusSchema,
} from '@fairlead/core/setup';
import { publicProcedure, router } from '../ladder.ts';
import { inSystemScope } from '../system-scope.ts';

export const setupRouter = router({
  status: publicProcedure.output(setupStatusSchema).query(async ({ ctx }) => {
    return { needed: await inSystemScope(ctx, 'tell whether set-up is open', isSetupNeeded) };
  }),

  claim: publicProcedure
    .input(claimSetupInputSchema)
    .output(claimSetupOutputSchema)
    .mutation(async ({ ctx, input }) => {
      const made: string[] = [];
      try {
        return await inSystemScope(ctx, 'make the first account the owner', (core) =>
          claimSetup(core, input, async () => {
            const account = await ctx.auth.createAccount(input);
            made.push(account.userId);
            return account;
          }),
        );
      } catch (error) {
        // Accounts commit on their own. One without the organization it was made for would only block its address.
        for (const userId of made) await ctx.auth.deleteAccount({ userId });
        throw error;
      }
    }),
});
