// Procedures of invitations. A token comes in a request's body only: URLs end up in logs.

import {
  acceptInvitation,
  claimInvitationInputSchema,
  createInvitation,
  createInvitationInputSchema,
  invitationInputSchema,
  invitationListSchema,
  invitationMail,
  invitationPreviewSchema,
  invitationTokenInputSchema,
  invitationUrl,
  joinedSchema,
  listInvitations,
  type MintedInvitation,
  mintedInvitationSchema,
  readInvitation,
  requireInvitation,
  revokeInvitation,
  rotateInvitation,
  touchInvitation,
} from '@fairlead/core/invitation';
import type { Ctx } from '@fairlead/core/kernel';
import { AppError } from '@fairlead/core/kernel';
import { type ApiContext, inSystemScope } from '../context.ts';
import { memberProcedure, publicProcedure, router, signedInProcedure } from '../procedures.ts';
import { isRights } from '../protection.ts';

export const invitationRouter = router({
  list: memberProcedure('member.invite')
    .output(invitationListSchema)
    .query(async ({ ctx }) => ({ items: await listInvitations(ctx.core), mailAvailable: ctx.mail !== null })),

  create: memberProcedure('member.invite', { input: createInvitationInputSchema, fresh: true, protection: isRights })
    .output(mintedInvitationSchema)
    .mutation(async ({ ctx, input }) => {
      if (input.email !== undefined) requireMail(ctx);
      return deliver(ctx, await createInvitation(ctx.core, input, ctx.access.rights));
    }),

  rotate: memberProcedure('member.invite', { input: invitationInputSchema, fresh: true, protection: isRights })
    .output(mintedInvitationSchema)
    .mutation(async ({ ctx, input }) => {
      const minted = await rotateInvitation(ctx.core, input, ctx.access.rights);
      if (minted.email !== null) requireMail(ctx);
      return deliver(ctx, minted);
    }),

  revoke: memberProcedure('member.invite', { input: invitationInputSchema, protection: isRights })
    .output(invitationInputSchema)
    .mutation(({ ctx, input }) => revokeInvitation(ctx.core, input)),

  // It reads, yet it is no query: a query's input travels in the address.
  read: publicProcedure
    .input(invitationTokenInputSchema)
    .output(invitationPreviewSchema)
    .mutation(({ ctx, input }) =>
      inSystemScope(ctx, 'show an invitation to its holder', (core) => readInvitation(core, input)),
    ),

  accept: signedInProcedure
    .input(invitationTokenInputSchema)
    .output(joinedSchema)
    .mutation(({ ctx, input }) => join(ctx, input.token, ctx.signedIn.user.id)),

  claim: publicProcedure
    .input(claimInvitationInputSchema)
    .output(joinedSchema)
    .mutation(async ({ ctx, input }) => {
      const { allowed } = await inSystemScope(ctx, 'check an invitation', (core) => requireInvitation(core, input));
      if (!allowed) throw new AppError('request.too_many');
      const { name, email, password } = input;
      const { userId } = await ctx.auth.createAccount({ name, email, password });
      try {
        return await join(ctx, input.token, userId);
      } catch (error) {
        // Somebody else was faster. An account that belongs nowhere would only block its address.
        await ctx.auth.deleteAccount({ userId });
        throw error;
      }
    }),
});

function join(ctx: ApiContext, token: string, userId: string): Promise<{ organizationSlug: string }> {
  return inSystemScope(ctx, 'join an organization by invitation', (core) =>
    acceptInvitation(core, { token, userId, ip: ctx.ip }),
  );
}

function requireMail(ctx: ApiContext): NonNullable<ApiContext['mail']> {
  if (ctx.mail === null) throw new AppError('invitation.mail_not_set_up');
  return ctx.mail;
}

interface Delivering extends ApiContext {
  readonly core: Ctx;
  readonly afterCommit: (work: () => Promise<void>) => void;
}

/** Returns a link to its creator. A mail goes out after the commit, and its link is shown to its recipient only. */
async function deliver(ctx: Delivering, minted: MintedInvitation) {
  const { invitationId, token, email, expiresAt } = minted;
  const url = invitationUrl(ctx.config.publicUrl, token);
  if (email === null) return { invitationId, expiresAt, url };
  const mail = requireMail(ctx);
  const { organizationId, actor } = ctx.core;
  const [organization, session] = await Promise.all([
    ctx.core.tx.organization.findUniqueOrThrow({ where: { id: organizationId }, select: { name: true } }),
    ctx.session(),
  ]);
  ctx.afterCommit(async () => {
    await mail.send(
      invitationMail({
        to: email,
        organizationName: organization.name,
        inviterName: session?.user.name ?? 'Somebody',
        expiresAt,
        url,
      }),
    );
    await ctx.database.tenant(organizationId, (tx) =>
      touchInvitation({ tx, organizationId, actor, clock: ctx.clock, log: ctx.log }, { invitationId, expiresAt }),
    );
  });
  return { invitationId, expiresAt, url: null };
}
