export { compareReleases, diffReleases } from './diff-releases.ts';
export { deploymentUrlsMax, findKeptReleases, type KeptRelease } from './find-kept-releases.ts';
export { listReleases } from './list-releases.ts';
export { type Origin, type OriginRoute, originSchema, systemVariables } from './origin.ts';
export * from './schema.ts';
