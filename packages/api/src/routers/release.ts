// Procedures of releases.
import {
  diffReleases,
  diffReleasesInputSchema,
  listReleases,
  listReleasesInputSchema,
  releaseDiffSchema,
  releasePageSchema,
} from '@fairlead/core/release';
import { memberProcedure, router } from '../procedures.ts';
import { byPlacement } from '../scopes.ts';

export const releaseRouter = router({
  list: memberProcedure('deployment.read', { input: listReleasesInputSchema, scope: byPlacement })
    .output(releasePageSchema)
    .query(({ ctx, input }) => listReleases(ctx.core, input)),

  diff: memberProcedure('deployment.read', { input: diffReleasesInputSchema, scope: byPlacement })
    .output(releaseDiffSchema)
    .query(({ ctx, input }) => diffReleases(ctx.core, input)),
});
