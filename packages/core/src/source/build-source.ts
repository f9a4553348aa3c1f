// Rule that binds a stored password to the host that it was entered for. Pure.
import { registryHost, repositoryHost } from './rules.ts';

/** An image, a repository, or neither: an uploaded folder is read from the artifact store. */
export type BuildSource =
  | { readonly kind: 'image'; readonly image: string }
  | { readonly kind: 'repository'; readonly url: string }
  | { readonly kind: 'upload' };

interface BuildInput {
  readonly settings: { readonly builder: string; readonly image: string };
  readonly repositoryUrl: string;
  readonly uploadDigest: string | null;
}

export function buildSourceOf({ settings, repositoryUrl, uploadDigest }: BuildInput): BuildSource {
  if (settings.builder === 'image') return { kind: 'image', image: settings.image };
  return uploadDigest === null ? { kind: 'repository', url: repositoryUrl } : { kind: 'upload' };
}

/** Returns the kind of credential that a source needs if it is not public. */
export function kindOf(source: BuildSource): 'ssh' | 'https' | 'registry' | null {
  if (source.kind === 'upload') return null;
  if (source.kind === 'image') return 'registry';
  return source.url.startsWith('ssh:') ? 'ssh' : 'https';
}

/** Returns the credentials that a source gets: the token of a GitHub installation instead of a stored password. */
export function credentialsFor<Row extends StoredCredential>(
  rows: readonly Row[],
  source: BuildSource,
  now: Date,
): Row[] {
  const kind = kindOf(source);
  const tokens = rows.filter(
    (row) => row.kind === 'github' && kind === 'https' && row.expiresAt !== null && row.expiresAt > now,
  );
  const fitting = tokens.filter((row) => opens(row, source));
  return fitting.length > 0 ? fitting : rows.filter((row) => row.kind === kind && opens(row, source));
}

export interface StoredCredential {
  readonly kind: string;
  readonly host: string;
  readonly expiresAt: Date | null;
}

/** Reports whether a source may get a credential. An ssh key has no host, because its private half is never sent. */
export function opens(credential: { readonly kind: string; readonly host: string }, source: BuildSource): boolean {
  if (credential.kind === 'ssh') return true;
  return credential.host !== '' && credential.host === hostOf(source);
}

/** Null: it is read from no host, or by ssh. */
export function hostOf(source: BuildSource): string | null {
  if (source.kind === 'upload') return null;
  return source.kind === 'image' ? registryHost(source.image) : repositoryHost(source.url);
}
