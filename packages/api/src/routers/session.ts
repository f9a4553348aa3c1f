// Procedures of the signed-in person: identity and memberships.
import { listMemberships } from '@fairlead/core/organization';
import { meSchema } from '@fairlead/core/session/schema';
import { inSystemScope } from '../context.ts';
import { router, signedInProcedure } from '../procedures.ts';

export const sessionRouter = router({
  me: signedInProcedure.output(meSchema).query(async ({ ctx }) => {
    const { id, name, email, hasSecondFactor } = ctx.signedIn.user;
    const organizations = await inSystemScope(ctx, 'list the memberships of a person', (core) =>
      listMemberships(core, { userId: id }),
    );
    return { user: { id, name, email, hasSecondFactor }, organizations };
  }),
});
