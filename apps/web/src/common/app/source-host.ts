// Host that a password of an app's source is bound to. A form shows it before anything is sent: a password opens that
// host only.
import { fromScpForm, registryHost, repositoryHost } from '@fairlead/core/source/rules';

export type PasswordKind = 'https' | 'registry';

export interface Source {
  readonly repositoryUrl: string;
  /** Null if the app is built from its repository. */
  readonly image: string | null;
}

/** Returns the host; empty if the source has no host for such a password. */
export function sourceHost(kind: PasswordKind, { repositoryUrl, image }: Source): string {
  if (kind === 'registry') return image === null || image === '' ? '' : registryHost(image);
  return repositoryHost(fromScpForm(repositoryUrl)) ?? '';
}

/**
 * Returns the default host of a password form, and a warning when the source has left it. A stored host comes first:
 * people who hold no password can change the address of a source.
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
