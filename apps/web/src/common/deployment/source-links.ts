// Addresses of a commit and a branch at the git host, for hosts whose addresses are known. Pure.
import { fromScpForm } from '@fairlead/core/source/rules';

interface HostPaths {
  readonly commit: string;
  readonly branch: string;
}

const gitea: HostPaths = { commit: '/commit/', branch: '/src/branch/' };

const hosts: Readonly<Record<string, HostPaths>> = {
  'github.com': { commit: '/commit/', branch: '/tree/' },
  'gitlab.com': { commit: '/-/commit/', branch: '/-/tree/' },
  'bitbucket.org': { commit: '/commits/', branch: '/branch/' },
  'codeberg.org': gitea,
  'gitea.com': gitea,
};

/** Returns null for a host that is not known, and for a folder or image without a commit. */
export function commitUrl(repositoryUrl: string, hash: string): string | null {
  const page = pageOf(repositoryUrl);
  return page === null || !/^[0-9a-f]{7,64}$/.test(hash) ? null : `${page.url}${page.paths.commit}${hash}`;
}

/** Returns null for a host that is not known, and for the default branch, whose name is not known. */
export function branchUrl(repositoryUrl: string, branch: string): string | null {
  const page = pageOf(repositoryUrl);
  if (page === null || branch === '') return null;
  return `${page.url}${page.paths.branch}${branch.split('/').map(encodeURIComponent).join('/')}`;
}

function pageOf(repositoryUrl: string): { readonly url: string; readonly paths: HostPaths } | null {
  const address = fromScpForm(repositoryUrl).replace(/^ssh:\/\/git@/, 'https://');
  if (!address.startsWith('https://') || !URL.canParse(address)) return null;
  const { host, pathname } = new URL(address);
  const paths = Object.hasOwn(hosts, host) ? hosts[host] : undefined;
  const path = pathname.replace(/\/+$/, '').replace(/\.git$/, '');
  return paths === undefined || path === '' ? null : { url: `https://${host}${path}`, paths };
}
