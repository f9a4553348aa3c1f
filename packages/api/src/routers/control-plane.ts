// Procedures of the control plane page, for the people who operate this control plane.
import {
  controlPlaneSchema,
  getControlPlane,
  listWarnings,
  type OperatorCtx,
  recordTestMail,
  retryJob,
  retryJobInputSchema,
  startBackup,
  startedBackupSchema,
  testMail,
  testMailSchema,
  warningSchema,
} from '@fairlead/core/control-plane';
import { AppError } from '@fairlead/core/kernel';
import { MailError } from '@fairlead/mail';
import { z } from 'zod';
import type { Operator } from '../access.ts';
import { requireSession } from '../access.ts';
import { type ApiContext, inSystemScope } from '../context.ts';
import { operatorProcedure, router } from '../procedures.ts';

export const controlPlaneRouter = router({
  get: operatorProcedure.output(controlPlaneSchema).query(async ({ ctx }) => {
    const offers = await ctx.config.agentOffers.list();
    return inSystemScope(ctx, 'show the control plane page', (core) =>
      getControlPlane(core, { facts: ctx.config.controlPlane, offers, clientAddress: ctx.ip }),
    );
  }),

  /** Problems of the control plane, for the overview of operators. */
  listWarnings: operatorProcedure.output(z.object({ items: z.array(warningSchema) })).query(({ ctx }) =>
    inSystemScope(ctx, 'list problems of the control plane', async (core) => ({
      items: await listWarnings(core, ctx.config.controlPlane),
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

  startBackup: operatorProcedure
    .output(startedBackupSchema)
    .mutation(({ ctx }) =>
      asOperator(ctx, 'start a backup', (core) => startBackup(core, ctx.config.controlPlane.backups)),
    ),

  retryJob: operatorProcedure
    .input(retryJobInputSchema)
    .output(z.object({ name: z.string() }))
    .mutation(({ ctx, input }) => asOperator(ctx, 'retry a failed job', (core) => retryJob(core, input))),
});

function asOperator<T>(
  ctx: ApiContext & { readonly operator: Operator },
  reason: string,
  run: (core: OperatorCtx) => Promise<T>,
): Promise<T> {
  return inSystemScope(ctx, reason, (core) => run({ ...core, ...ctx.operator, ip: ctx.ip }));
}
