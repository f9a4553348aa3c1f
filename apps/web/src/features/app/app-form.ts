// Converts the fields of the app form to the API's input. Pure.
import { repositoryName } from '@fairlead/ui/lib/format';

/** Suggests a name from the repository's URL: its last part without `.git`. */
export function suggestName(repositoryUrl: string): string {
  const address = repositoryUrl.trim().replace(/^[\w.-]+@([\w.-]+):(?!\/)/, 'ssh://$1/');
  if (!/^(?:https?|ssh):\/\/[^/]+\/./.test(address)) return '';
  return repositoryName(address).split('/').at(-1) ?? '';
}

/** Suggests a name from an image, for example shop for "registry.example/team/shop:2@sha256:…". */
export function suggestImageName(image: string): string {
  const path = image.trim().replace(/@.*$/, '');
  const last = path.split('/').at(-1) ?? '';
  return last.replace(/:.*$/, '');
}

/**
 * Suggests a host that browsers resolve to this machine; empty when no character of the app's name is allowed in a
 * host.
 */
export function suggestHost(name: string): string {
  const label = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/^-+|-+$/g, '');
  return label === '' ? '' : `${label}.localhost`;
}

/** Returns the name, or the first of name-2, name-3 and so on that no app has. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}-${number}`;
  return free;
}

export interface DeployKeyPage {
  /** Display name of the host. */
  readonly name: string;
  /** URL of the page that adds a deploy key; null if unknown. */
  readonly url: string | null;
}

/** Returns the host's page for adding the public key. */
export function deployKeyPage(repositoryUrl: string): DeployKeyPage {
  const [, host = '', path = ''] = /^ssh:\/\/[^@/]*@([^:/]+)(?::\d+)?\/(.+?)(?:\.git)?\/?$/.exec(repositoryUrl) ?? [];
  switch (host) {
    case 'github.com':
      return { name: 'GitHub', url: `https://github.com/${path}/settings/keys/new` };
    case 'gitlab.com':
      return { name: 'GitLab', url: `https://gitlab.com/${path}/-/settings/repository#js-deploy-keys-settings` };
    case 'codeberg.org':
      return { name: 'Codeberg', url: `https://codeberg.org/${path}/settings/keys` };
    case 'bitbucket.org':
      return { name: 'Bitbucket', url: `https://bitbucket.org/${path}/admin/access-keys/` };
    default:
      return { name: host === '' ? 'the host of the repository' : host, url: null };
  }
}
