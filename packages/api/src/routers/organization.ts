// Procedures of organizations themselves.
import { AppError } from '@fairlead/core/kernel';
import { leaveOrganization, memberIdentitySchema, transferOrganization } from '@fairlead/core/member';
import {
  createOrganization,
  createOrganizationInputSchema,
  deleteOrganization,
  deleteOrganizationInputSchema,
  leaveOrganizationInputSchema,
  leftOrganizationSchema,
  listMemberships,
  organizationDeletionSchema,
  organizationIdentitySchema,
  restoreOrganization,
  transferOrganizationInputSchema,
  updateOrganization,
  updateOrganizationInputSchema,
} from '@fairlead/core/organization';
import { requireSession } from '../access.ts';
import { inSystemScope } from '../context.ts';
import { memberProcedure, router, signedInProcedure } from '../procedures.ts';
import { isOrganization, open } from '../protection.ts';

export const organizationRouter = router({
  create: signedInProcedure
    .input(createOrganizationInputSchema)
    .output(organizationIdentitySchema)
    .mutation(({ ctx, input }) =>
      inSystemScope(ctx, 'make an organization', (core) =>
        createOrganization(core, { name: input.name, userId: ctx.signedIn.user.id, ip: ctx.ip }),
      ),
    ),

  update: memberProcedure('organization.write', {
    input: updateOrganizationInputSchema,
    fresh: true,
    protection: isOrganization,
  })
    .output(organizationIdentitySchema)
    .mutation(async ({ ctx, input }) => {
      const { user } = await requireSession(ctx);
      return updateOrganization(ctx.core, input, { hasSecondFactor: user.hasSecondFactor });
    }),

  transfer: memberProcedure('organization.transfer', {
    input: transferOrganizationInputSchema,
    fresh: true,
    protection: isOrganization,
  })
    .output(memberIdentitySchema)
    .mutation(async ({ ctx, input }) => {
      await transferOrganization(ctx.core, input);
      return { memberId: input.memberId };
    }),

  delete: memberProcedure('organization.delete', {
    input: deleteOrganizationInputSchema,
    fresh: true,
    protection: open('only an owner may, who may approve everywhere'),
  })
    .output(organizationDeletionSchema)
    .mutation(({ ctx, input }) => deleteOrganization(ctx.core, input)),

  restore: memberProcedure('organization.delete', { fresh: true, protection: isOrganization })
    .output(organizationDeletionSchema)
    .mutation(({ ctx }) => restoreOrganization(ctx.core)),

  // Requires a session, not access as a member: a member who is refused for lack of a second factor may still leave.
  leave: signedInProcedure
    .input(leaveOrganizationInputSchema)
    .output(leftOrganizationSchema)
    .mutation(async ({ ctx, input }) => {
      const { organizationId } = input;
      const { clock, log, ip } = ctx;
      const userId = ctx.signedIn.user.id;
      const memberships = await inSystemScope(ctx, 'resolve the membership of a request', (core) =>
        listMemberships(core, { userId }),
      );
      const own = memberships.find(({ id }) => id === organizationId);
      if (own === undefined) throw new AppError('organization.not_found');
      const actor = { kind: 'member', userId, role: own.role } as const;
      await ctx.database.tenant(organizationId, (tx) =>
        leaveOrganization({ tx, organizationId, actor, clock, log, ip }),
      );
      return { organizationId };
    }),
});
