// The door to releases.
export { listReleases } from './list-releases.ts';
export * from './schema.ts';
