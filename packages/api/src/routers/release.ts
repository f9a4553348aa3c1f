// Owns the procedures of releases.
import { listReleases, listReleasesInputSchema, releasePageSchema } from '@fairlead/core/release';
import { memberProcedure, router } from '../ladder.ts';
import { byPlacement } from '../scopes.ts';

export const releaseRouter = router({
  list: memberProcedure('deployment.read', { scope: byPlacement })
    .input(listReleasesInputSchema)
    .output(releasePageSchema)
    .query(({ ctx, input }) => listReleases(ctx.core, input)),
});
