// Procedures of the webhooks of single apps.
import {
  createdWebhookSchema,
  createWebhook,
  createWebhookInputSchema,
  deleteWebhook,
  listWebhooks,
  rotateWebhook,
  webhookListSchema,
  webhookRefSchema,
  webhooksOfSchema,
} from '@fairlead/core/push';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfApp } from '../protection.ts';
import { byApp } from '../scopes.ts';

export const webhookRouter = router({
  list: memberProcedure('app.read', { input: webhooksOfSchema, scope: byApp })
    .output(webhookListSchema)
    .query(({ ctx, input }) => listWebhooks(ctx.core, input)),

  create: memberProcedure('secret.write', {
    input: createWebhookInputSchema,
    scope: byApp,
    fresh: true,
    protection: approverOfApp,
  })
    .output(createdWebhookSchema)
    .mutation(({ ctx, input }) => createWebhook(ctx.core, input, ctx.secretKeys)),

  rotate: memberProcedure('secret.write', {
    input: webhookRefSchema,
    scope: byApp,
    fresh: true,
    protection: approverOfApp,
  })
    .output(createdWebhookSchema)
    .mutation(({ ctx, input }) => rotateWebhook(ctx.core, input, ctx.secretKeys)),

  delete: memberProcedure('secret.write', { input: webhookRefSchema, scope: byApp, protection: approverOfApp })
    .output(webhookRefSchema)
    .mutation(({ ctx, input }) => deleteWebhook(ctx.core, input)),
});
