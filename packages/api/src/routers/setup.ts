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
    .mutation(({ ctx, input }) =>
      inSystemScope(ctx, 'make the first account the owner', (core) =>
        claimSetup(core, input, () => ctx.auth.createAccount(core.tx, input)),
      ),
    ),
});
