// Adds a tar.gz to an organization's artifact store, within its quotas. The caller records the artifact's row.
import { type AddResult, type ArtifactStore, artifactBytesMax } from '@fairlead/core/artifact';
import { AppError } from '@fairlead/core/kernel';

export interface Upload {
  readonly digest: string;
  readonly sizeBytes: number;
}

/** Throws what a person reads if the store did not keep it. */
export async function addUpload(store: ArtifactStore, ...upload: Parameters<ArtifactStore['add']>): Promise<Upload> {
  const added = await store.add(...upload);
  if (added.kind !== 'whole') throw refusalOf(added);
  return { digest: `sha256:${added.hex}`, sizeBytes: added.sizeBytes };
}

function refusalOf(added: Exclude<AddResult, { readonly kind: 'whole' }>): AppError {
  switch (added.kind) {
    case 'too_large':
      return new AppError('request.too_large', { bytesMax: artifactBytesMax });
    case 'incomplete':
      return new AppError('artifact.incomplete');
    case 'wrong_digest':
      return new AppError('artifact.digest_wrong', { digest: `sha256:${added.hex}` });
    case 'no_room':
      return new AppError('artifact.no_room');
    case 'busy':
      return new AppError('request.too_many');
  }
}
