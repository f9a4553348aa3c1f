// The host that a password of an app's source is for. A form shows it before anything is sent: a password opens that host only.
import { fromScpForm, registryHost, repositoryHost } from '@fairlead/core/source/rules';

export type PasswordKind = 'https' | 'registry';

export interface Source {
  readonly repositoryUrl: string;
  /** Null: it is built from the repository. */
  readonly image: string | null;
}

/** Empty: the source has no host that asks for such a password. */
export function sourceHost(kind: PasswordKind, { repositoryUrl, image }: Source): string {
  if (kind === 'registry') return image === null || image === '' ? '' : registryHost(image);
  return repositoryHost(fromScpForm(repositoryUrl)) ?? '';
}

/**
 * The host that a password form begins with, and a warning when the source has left it. A stored host comes first: the address
 * of a source can be changed by people who hold no password.
 */
export function passwordHost(
  kind: PasswordKind,
  source: Source,
  stored: string,
): { host: string; warning: string | null } {
  const current = sourceHost(kind, source);
  if (stored === '' || current === '' || stored === current) return { host: stored || current, warning: null };
  return {
    host: stored,
    warning: `The stored password is for ${stored}, but the source is now at ${current}. Enter ${current} only if it may have a password.`,
  };
}
