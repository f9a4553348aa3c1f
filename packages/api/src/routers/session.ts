// Procedures of the signed-in person: identity and memberships.
import { findOperatedOrganization } from '@fairlead/core/control-plane';
import { listMemberships } from '@fairlead/core/organization';
import { meSchema } from '@fairlead/core/session/schema';
import { inSystemScope } from '../context.ts';
import { router, signedInProcedure } from '../procedures.ts';

export const sessionRouter = router({
  me: signedInProcedure.output(meSchema).query(async ({ ctx }) => {
    const { id, name, email, locale, timeZone, hasSecondFactor } = ctx.signedIn.user;
    return inSystemScope(ctx, 'list the memberships of a person', async (core) => ({
      user: { id, name, email, locale, timeZone, hasSecondFactor },
      organizations: await listMemberships(core, { userId: id }),
      operatedOrganizationId: await findOperatedOrganization(core, { userId: id }),
    }));
  }),
});
