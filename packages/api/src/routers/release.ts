// Procedures of releases and their deployment URLs.
import { deploymentUrlsSchema, listDeploymentUrls } from '@fairlead/core/deployment-url';
import { domainUrl } from '@fairlead/core/domain';
import { placementInputSchema } from '@fairlead/core/placement';
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

  listUrls: memberProcedure('deployment.read', { input: placementInputSchema, scope: byPlacement })
    .output(deploymentUrlsSchema)
    .query(({ ctx, input }) =>
      listDeploymentUrls(ctx.core, input, (route, isLocalServer) => domainUrl(route, isLocalServer, ctx.config)),
    ),

  diff: memberProcedure('deployment.read', { input: diffReleasesInputSchema, scope: byPlacement })
    .output(releaseDiffSchema)
    .query(({ ctx, input }) => diffReleases(ctx.core, input)),
});
