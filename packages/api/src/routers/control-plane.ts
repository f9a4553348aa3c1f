// Procedures of the control plane page, for the people who operate this control plane.
import {
  checkUpdate,
  controlPlaneSchema,
  getControlPlane,
  listNotices,
  noticeSchema,
  recordTestMail,
  retryJob,
  retryJobInputSchema,
  startBackup,
  startedBackupSchema,
  startUpdate,
  testMail,
  testMailSchema,
} from '@fairlead/core/control-plane';
import {
  checkFeed,
  startUpdateInputSchema,
  updateOverviewSchema,
  writeUpdateRequest,
} from '@fairlead/core/fairlead-update';
import { AppError } from '@fairlead/core/kernel';
import { MailError } from '@fairlead/mail';
import { z } from 'zod';
import { asOperator, requireSession } from '../access.ts';
import { inSystemScope } from '../context.ts';
import { freshOperatorProcedure, operatorProcedure, router } from '../procedures.ts';

export const controlPlaneRouter = router({
  get: operatorProcedure.output(controlPlaneSchema).query(async ({ ctx }) => {
    const offers = await ctx.config.agentOffers.list();
    return inSystemScope(ctx, 'show the control plane page', (core) =>
      getControlPlane(core, { facts: ctx.config.controlPlane, offers, clientAddress: ctx.ip }),
    );
  }),

  /** Problems of the control plane and a newer version, for the overview of operators. */
  listNotices: operatorProcedure.output(z.object({ items: z.array(noticeSchema) })).query(({ ctx }) =>
    inSystemScope(ctx, 'list problems of the control plane', async (core) => ({
      items: await listNotices(core, ctx.config.controlPlane),
    })),
  ),

  /** Sends to the caller's own address. The failure is data, because it is what the caller wants to know. */
  sendTestMail: operatorProcedure.output(testMailSchema).mutation(async ({ ctx }) => {
    const { mail } = ctx;
    if (mail === null) throw new AppError('control_plane.mail_not_set_up');
    const { user } = await requireSession(ctx);
    await ctx.rateLimit.admitTestMail(user.id);
    const failure = await mail.send(testMail({ to: user.email, publicUrl: ctx.config.publicUrl })).then(
      () => null,
      (error: unknown) => {
        if (error instanceof MailError) return error.message;
        throw error;
      },
    );
    const result = { to: user.email, failure };
    await asOperator(ctx, 'record a test email', (core) => recordTestMail(core, result));
    return result;
  }),

  /** Fresh, as each backup deletes the oldest one. */
  startBackup: freshOperatorProcedure
    .output(startedBackupSchema)
    .mutation(({ ctx }) =>
      asOperator(ctx, 'start a backup', (core) => startBackup(core, ctx.config.controlPlane.backups)),
    ),

  /** Looks for a newer release at once. */
  checkUpdate: operatorProcedure.output(updateOverviewSchema).mutation(async ({ ctx }) => {
    const { updates } = ctx.config.controlPlane;
    if (updates.readFeedFile === null) throw new AppError('control_plane.feed_not_set_up');
    const found = await checkFeed(updates.readFeedFile, updates.publicKeys);
    return asOperator(ctx, 'look for a newer release', (core) => checkUpdate(core, updates, found));
  }),

  /** The updater backs up, installs the version, checks it, and goes back if the check fails. */
  startUpdate: freshOperatorProcedure
    .input(startUpdateInputSchema)
    .output(startUpdateInputSchema)
    .mutation(async ({ ctx, input }) => {
      const { updates } = ctx.config.controlPlane;
      const { folder } = await asOperator(ctx, 'start an update', (core) => startUpdate(core, updates, input));
      if (!(await writeUpdateRequest(folder, input.version))) throw new AppError('control_plane.update_running');
      return input;
    }),

  retryJob: operatorProcedure
    .input(retryJobInputSchema)
    .output(z.object({ name: z.string() }))
    .mutation(({ ctx, input }) => asOperator(ctx, 'retry a failed job', (core) => retryJob(core, input))),
});
