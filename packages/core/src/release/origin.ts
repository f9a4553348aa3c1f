// Variables that Fairlead sets for builds and instances. Pure. Their values are stored with the deployment and its release, so a
// changed domain or name reaches an app with its next deployment and restarts nothing.
import { z } from 'zod';

/** Each value may be missing: rows of former versions have none. */
export const originSchema = z.object({
  appSlug: z.string().default(''),
  environmentName: z.string().default(''),
  deploymentId: z.string().default(''),
  /** Empty: no repository, or a build that has not pinned it yet. */
  commit: z.string().default(''),
  /** Empty: a tag or a commit. */
  branch: z.string().default(''),
  /** The app's first domain; null: none. */
  route: z.object({ host: z.string(), pathPrefix: z.string() }).nullable().default(null),
});
export type Origin = z.infer<typeof originSchema>;

export type OriginRoute = NonNullable<Origin['route']>;

/** `urlOf` writes the address of a domain as browsers open it. */
export function systemVariables(origin: Origin, urlOf: (route: OriginRoute) => string): Record<string, string> {
  const all = {
    FAIRLEAD_APP: origin.appSlug,
    FAIRLEAD_ENVIRONMENT: origin.environmentName,
    FAIRLEAD_DEPLOYMENT_ID: origin.deploymentId,
    FAIRLEAD_GIT_COMMIT: origin.commit,
    FAIRLEAD_GIT_BRANCH: origin.branch,
    FAIRLEAD_URL: origin.route === null ? '' : urlOf(origin.route),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}
