// The door to volumes.
export { deleteVolume, restoreVolume } from './delete-volume.ts';
export { listVolumes } from './list-volumes.ts';
export { recordVolumes, releaseDueVolumes } from './record-volumes.ts';
export * from './schema.ts';
