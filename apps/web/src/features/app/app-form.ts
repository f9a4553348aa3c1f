// What people type about an app, turned into what the API takes. Pure.
import { repositoryName } from '@fairlead/ui/lib/format';

/** A first name from the repository's address: its last part, without `.git`. */
export function suggestName(repositoryUrl: string): string {
  const address = repositoryUrl.trim().replace(/^[\w.-]+@([\w.-]+):(?!\/)/, 'ssh://$1/');
  if (!/^(?:https?|ssh):\/\/[^/]+\/./.test(address)) return '';
  return repositoryName(address).split('/').at(-1) ?? '';
}

/** Of "registry.example/team/shop:2@sha256:…": shop. */
export function suggestImageName(image: string): string {
  const path = image.trim().replace(/@.*$/, '');
  const last = path.split('/').at(-1) ?? '';
  return last.replace(/:.*$/, '');
}

/** A name that browsers find on this machine; empty when nothing of the app's name can stand in one. */
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

export interface KeyPlace {
  /** The host's name, as people call it. */
  readonly name: string;
  /** Where a deploy key is added there; null: nobody knows. */
  readonly url: string | null;
}

/** Where the public half of a deploy key belongs. */
export function keyPlaceOf(repositoryUrl: string): KeyPlace {
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
