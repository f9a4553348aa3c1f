export { deleteVolume, restoreVolume } from './delete-volume.ts';
export { keepVolumes } from './keep-volumes.ts';
export { listVolumes } from './list-volumes.ts';
export { recordVolumes, releaseDueVolumes } from './record-volumes.ts';
export * from './schema.ts';
export { listVolumeNames } from './store.ts';
