// Procedures of previews: pull requests of an app with their environments.
import {
  approvePreview,
  approvePreviewInputSchema,
  getPreviewPolicy,
  listPreviews,
  previewListSchema,
  previewPolicySchema,
  previewRefSchema,
  previewsOfSchema,
  removePreview,
  updatePreviewPolicy,
  updatePreviewPolicyInputSchema,
} from '@fairlead/core/preview';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfApp, open } from '../protection.ts';
import { byApp, byPreview } from '../scopes.ts';

export const previewRouter = router({
  list: memberProcedure('deployment.read', { input: previewsOfSchema, scope: byApp })
    .output(previewListSchema)
    .query(({ ctx, input }) => listPreviews(ctx.core, input, ctx.config)),

  getPolicy: memberProcedure('app.read', { input: previewsOfSchema, scope: byApp })
    .output(previewPolicySchema)
    .query(({ ctx, input }) => getPreviewPolicy(ctx.core, input)),

  updatePolicy: memberProcedure('environment.write', {
    input: updatePreviewPolicyInputSchema,
    scope: byApp,
    fresh: true,
    protection: approverOfApp,
  })
    .output(previewPolicySchema)
    .mutation(({ ctx, input }) => updatePreviewPolicy(ctx.core, input)),

  /** Builds one commit of a fork. */
  approve: memberProcedure('deployment.approve', {
    input: approvePreviewInputSchema,
    scope: byPreview,
    fresh: true,
    protection: open('it is the approval'),
  })
    .output(previewRefSchema)
    .mutation(({ ctx, input }) => approvePreview(ctx.core, input)),

  remove: memberProcedure('deployment.write', {
    input: previewRefSchema,
    scope: byPreview,
    protection: open('a preview is never protected'),
  })
    .output(previewRefSchema)
    .mutation(({ ctx, input }) => removePreview(ctx.core, input)),
});
