// Procedures of a person's own account, and those that a link from a mail opens. An account belongs to no
// organization, so none of them opens an organization's scope.
import { parseId } from '@fairlead/contract/ids';
import {
  accountEventSchema,
  accountSchema,
  accountSessionSchema,
  codeInputSchema,
  confirmInputSchema,
  emailInputSchema,
  factorCodeInputSchema,
  githubAccountSchema,
  githubLinkRefSchema,
  githubReturnSchema,
  linkInputSchema,
  passkeyRefSchema,
  recoveryCodesSchema,
  resetPasswordInputSchema,
  sessionRefSchema,
  twoFactorSetupSchema,
  updateAccountInputSchema,
  updatePasskeyInputSchema,
  updatePasswordInputSchema,
} from '@fairlead/core/account';
import { z } from 'zod';
import { requireSession } from '../access.ts';
import type { ApiContext } from '../context.ts';
import { publicProcedure, router, signedInProcedure } from '../procedures.ts';

const nothing = z.object({});

async function callerOf(ctx: ApiContext) {
  return { session: await requireSession(ctx), headers: ctx.headers };
}

export const accountRouter = router({
  get: signedInProcedure.output(accountSchema).query(async ({ ctx }) => {
    const account = await ctx.auth.account.get(await callerOf(ctx));
    return { ...account, passkeys: [...account.passkeys] };
  }),

  update: signedInProcedure
    .input(updateAccountInputSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.update(await callerOf(ctx), input);
      return {};
    }),

  /** Makes the session fresh, so that a call that failed with session.not_fresh can be retried. */
  confirm: signedInProcedure
    .input(confirmInputSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.confirm(await callerOf(ctx), input);
      return {};
    }),

  /** Proves a second factor in this session. A call that failed with session.second_factor_required can then be retried. */
  confirmSecondFactor: signedInProcedure
    .input(factorCodeInputSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.confirmSecondFactor(await callerOf(ctx), input);
      return {};
    }),

  updatePassword: signedInProcedure
    .input(updatePasswordInputSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.updatePassword(await callerOf(ctx), input);
      return {};
    }),

  sendVerification: signedInProcedure.output(nothing).mutation(async ({ ctx }) => {
    await ctx.auth.account.sendVerification(await callerOf(ctx));
    return {};
  }),

  requestEmailChange: signedInProcedure
    .input(emailInputSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.requestEmailChange(await callerOf(ctx), input);
      return {};
    }),

  listSessions: signedInProcedure
    .output(z.object({ items: z.array(accountSessionSchema) }))
    .query(async ({ ctx }) => ({ items: await ctx.auth.account.listSessions(await callerOf(ctx)) })),

  revokeSession: signedInProcedure
    .input(sessionRefSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.revokeSession(await callerOf(ctx), input);
      return {};
    }),

  revokeOtherSessions: signedInProcedure
    .output(z.object({ count: z.number().int() }))
    .mutation(async ({ ctx }) => ({ count: await ctx.auth.account.revokeOtherSessions(await callerOf(ctx)) })),

  listEvents: signedInProcedure
    .output(z.object({ items: z.array(accountEventSchema) }))
    .query(async ({ ctx }) => ({ items: await ctx.auth.account.listEvents(await callerOf(ctx)) })),

  updatePasskey: signedInProcedure
    .input(updatePasskeyInputSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.renamePasskey(await callerOf(ctx), input);
      return {};
    }),

  deletePasskey: signedInProcedure
    .input(passkeyRefSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.removePasskey(await callerOf(ctx), input);
      return {};
    }),

  beginTwoFactor: signedInProcedure
    .output(twoFactorSetupSchema)
    .mutation(async ({ ctx }) => ctx.auth.account.beginTwoFactor(await callerOf(ctx))),

  confirmTwoFactor: signedInProcedure
    .input(codeInputSchema)
    .output(recoveryCodesSchema)
    .mutation(async ({ ctx, input }) => ({
      codes: await ctx.auth.account.confirmTwoFactor(await callerOf(ctx), input),
    })),

  rotateRecoveryCodes: signedInProcedure
    .output(recoveryCodesSchema)
    .mutation(async ({ ctx }) => ({ codes: await ctx.auth.account.rotateRecoveryCodes(await callerOf(ctx)) })),

  disableTwoFactor: signedInProcedure.output(nothing).mutation(async ({ ctx }) => {
    await ctx.auth.account.disableTwoFactor(await callerOf(ctx));
    return {};
  }),

  listGithubAccounts: signedInProcedure
    .output(z.object({ items: z.array(githubAccountSchema) }))
    .query(async ({ ctx }) => {
      const items = await ctx.auth.account.listGithubAccounts(await callerOf(ctx));
      return { items: items.map((item) => ({ ...item, githubAppId: parseId('gha', item.githubAppId) })) };
    }),

  /** Returns the address at GitHub where the person proves their account. */
  startGithubLink: signedInProcedure
    .input(githubLinkRefSchema)
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx, input }) => ctx.auth.account.startGithubLink(await callerOf(ctx), input)),

  completeGithubLink: signedInProcedure
    .input(githubReturnSchema)
    .output(z.object({ login: z.string() }))
    .mutation(async ({ ctx, input }) => ctx.auth.account.completeGithubLink(await callerOf(ctx), input)),

  deleteGithubLink: signedInProcedure
    .input(githubLinkRefSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.removeGithubLink(await callerOf(ctx), input);
      return {};
    }),

  /** Returns the ways to sign in beyond a password and a passkey. */
  signInWays: publicProcedure
    .output(z.object({ github: z.boolean() }))
    .query(async ({ ctx }) => ({ github: await ctx.auth.account.hasGithubSignIn() })),

  /** Returns if mail can be sent at all, for a person who is locked out. The answer is the same for all. */
  help: publicProcedure
    .output(z.object({ canMail: z.boolean() }))
    .query(({ ctx }) => ({ canMail: ctx.auth.account.canMail })),

  requestReset: publicProcedure
    .input(emailInputSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.requestReset(ctx.headers, input);
      return {};
    }),

  resetPassword: publicProcedure
    .input(resetPasswordInputSchema)
    .output(nothing)
    .mutation(async ({ ctx, input }) => {
      await ctx.auth.account.resetPassword(ctx.headers, input);
      return {};
    }),

  verifyEmail: publicProcedure
    .input(linkInputSchema)
    .output(z.object({ email: z.string() }))
    .mutation(({ ctx, input }) => ctx.auth.account.verifyEmail(ctx.headers, input)),
});
