export {
  findTransfer,
  hashTransferToken,
  recordArtifact,
  type StoredArtifact,
  type Transfer,
  type TransferQuery,
} from './find-transfer.ts';
export { artifactGraceMs, findOrphans, pruneArtifacts } from './prune-artifacts.ts';
export {
  type AddResult,
  type ArtifactKey,
  type ArtifactStore,
  artifactBytesMax,
  createFolderArtifactStore,
  type PartResult,
  type StoredFile,
} from './store.ts';
