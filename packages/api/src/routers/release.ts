// Owns the procedures of releases.
import { listReleases, listReleasesInputSchema, releasePageSchema } from '@fairlead/core/release';
import { memberProcedure, router } from '../ladder.ts';

export const releaseRouter = router({
  list: memberProcedure('deployment.read')
    .input(listReleasesInputSchema)
    .output(releasePageSchema)
    .query(({ ctx, input }) => listReleases(ctx.core, input)),
});
