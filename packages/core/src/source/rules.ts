// Rules of repository addresses, refs and root folders. They reach `git` and a server's file system, so anything that
// reads as an option, a shell word or a path out of the checkout is refused.

/** Maximum length of the normal form, in which some characters take three; an agent takes 2048. */
export const urlLengthMax = 2000;
// Characters that git forbids, and those that a shell interprets: an agent refuses both.
const refForbidden = /[\s~^:?*[\]\\\p{Cc}"'`$;&|<>(){}!]/u;
// Everything a shell, an option parser or a terminal could read as more than a file name.
const folderPart = /^[\p{L}\p{N}_.@+-]+$/u;

/** A sentence when the URL is not one that a server may clone from; null when it is fine. */
export function repositoryProblem(url: string): string | null {
  if (url.startsWith('ssh://')) return sshProblem(url);
  // A URL parser forgives spaces, control characters and backslashes; git need not read them the same way.
  if (!/^https?:\/\//i.test(url)) {
    return 'Enter the https:// or ssh:// address of the repository, or git@host:path; other kinds are not supported.';
  }
  if (/[\s\\'"`<>{}|$;\p{Cc}]/u.test(url) || /[^\x21-\x7e]/.test(url))
    return 'The repository address has a character that does not belong in a URL.';
  if (!URL.canParse(url)) return 'The repository address is not a complete URL.';
  const parsed = new URL(url);
  if (parsed.href.length > urlLengthMax) return 'The repository address is too long.';
  // An empty name is one too: a parser forgets it, an agent refuses it.
  if (/^https?:\/+[^/?#]*@/i.test(url))
    return 'Leave user name and password out of the repository address; it is stored and shown.';
  if (parsed.protocol === 'http:' && !isLoopback(parsed.hostname))
    return 'Enter the https:// address of the repository. Over http, an attacker on the network could change the code.';
  if (parsed.search !== '' || parsed.hash !== '') return 'The repository address ends before any ? or #.';
  if (parsed.pathname === '/' || parsed.pathname === '')
    return 'The repository address lacks the path of the repository.';
  return null;
}

/** git@host:path, as hosts of repositories show it, in the form of a URL; anything else as it is. */
export function fromScpForm(address: string): string {
  const [, user, host, path] =
    /^([A-Za-z0-9_][\w.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)\/?([^\s:][^\s]*)$/.exec(address) ?? [];
  return user === undefined ? address : `ssh://${user}@${host}/${path}`;
}

/** Every part is plain: ssh would read a user or a host with a leading dash as an option, and git a path as one. */
function sshProblem(url: string): string | null {
  const parts = /^ssh:\/\/([^@/]*)@([^/:]*)(?::(\d{1,5}))?\/(.*)$/.exec(url);
  if (parts === null) return 'An ssh address is ssh://user@host/path, such as ssh://git@git.example/shop.git.';
  const [, user = '', host = '', port = '22', path = ''] = parts;
  if (!/^[A-Za-z0-9_][\w.-]{0,63}$/.test(user))
    return 'The user of the repository address has a character that does not belong there.';
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(host))
    return 'The repository address has no valid host. Use an address such as https://git.example.com/shop.git.';
  if (Number(port) < 1 || Number(port) > 65_535) return 'The port of the repository address is not one.';
  if (!/^[\w~.@+-]+(?:\/[\w~.@+-]+)*\/?$/.test(path) || path.startsWith('-') || path.split('/').includes('..')) {
    return 'The repository address lacks the path of the repository, or it has a character that does not belong there.';
  }
  return url.length > urlLengthMax ? 'The repository address is too long.' : null;
}

/** Returns host and port of an https or http address, without the default port of https. Null if it has no host. */
export function repositoryHost(url: string): string | null {
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return null;
  const { protocol, host, hostname, port } = new URL(url);
  return protocol === 'http:' && port === '' ? `${hostname}:80` : host;
}

/** Returns host and port of the registry that an engine pulls an image from. */
export function registryHost(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:A-Z]/.test(first) || first === 'localhost');
  if (!isHost || dockerHub.has(first.toLowerCase())) return 'docker.io';
  return first.toLowerCase();
}

const dockerHub: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);

/** True if the hostname of a parsed URL, in its normal form, is a loopback address. */
function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}

/** The rules of git check-ref-format, and no leading dash: git would read it as an option. */
export function refProblem(ref: string): string | null {
  const bad =
    ref.startsWith('-') ||
    ref.startsWith('/') ||
    ref.endsWith('/') ||
    ref.endsWith('.') ||
    ref.endsWith('.lock') ||
    ref.includes('..') ||
    ref.includes('//') ||
    ref.includes('@{') ||
    ref === '@' ||
    ref.split('/').some((part) => part.startsWith('.')) ||
    refForbidden.test(ref);
  return bad ? 'That is not a name git allows for a branch, tag or commit.' : null;
}

/** Stays inside the checkout: plain parts only, no "..", no absolute path, no hidden git folder. */
export function rootFolderProblem(folder: string): string | null {
  if (folder === '') return null;
  const bad = folder
    .split('/')
    .some(
      (part) =>
        part === '' ||
        part === '.' ||
        part === '..' ||
        part === '.git' ||
        part.startsWith('-') ||
        !folderPart.test(part),
    );
  return bad ? 'The root folder is a plain path inside the repository, such as apps/web.' : null;
}
