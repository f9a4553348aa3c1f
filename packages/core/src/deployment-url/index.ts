export { deploymentHost, isDeploymentHost } from './deployment-host.ts';
export { findCoveredBases, findUrlBases, type UrlBase } from './find-url-bases.ts';
export { findUrlReleases, listDeploymentUrls, type ReleaseOfUrl } from './list-deployment-urls.ts';
export * from './schema.ts';
