export { deleteVolume, restoreVolume } from './delete-volume.ts';
export { keepVolumes } from './keep-volumes.ts';
export { listVolumes } from './list-volumes.ts';
export { failStuckSnapshots, planSnapshots, pruneSnapshots } from './plan-snapshots.ts';
export { type ReportedSnapshots, recordSnapshots } from './record-snapshots.ts';
export { recordVolumes, releaseDueVolumes } from './record-volumes.ts';
export * from './schema.ts';
export { addSnapshot, createSnapshot, ensureVolumes, findNewestSnapshots, listSnapshots } from './snapshots.ts';
export { listVolumeNames } from './store.ts';
