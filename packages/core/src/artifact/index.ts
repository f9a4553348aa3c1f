// The door to the artifact store.
export {
  findTransfer,
  hashTransferToken,
  recordArtifact,
  type StoredArtifact,
  type Transfer,
  type TransferQuestion,
} from './find-transfer.ts';
export { pruneArtifacts } from './prune-artifacts.ts';
export {
  type ArtifactKey,
  type ArtifactStore,
  artifactBytesMax,
  createFolderArtifactStore,
  type PartResult,
} from './store.ts';
