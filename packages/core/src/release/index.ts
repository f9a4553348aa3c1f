export { diffReleases } from './diff-releases.ts';
export { findKeptReleases, type KeptRelease } from './kept.ts';
export { listReleases } from './list-releases.ts';
export { type Origin, type OriginRoute, originSchema, systemVariables } from './origin.ts';
export * from './schema.ts';
