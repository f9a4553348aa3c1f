// Suggests watch paths of an app from the workspace manifests in its repository at GitHub.
import { type AppSource, manifestPathsOf, suggestWatchPaths } from '@fairlead/core/push';
import type { Github } from '@fairlead/github';
import { throughGithub } from './github.ts';

/** Each is a request to GitHub. Those nearest to the root and to the app are read. */
const manifestsMax = 150;
const requestsAtOnce = 10;
/** Bound of all manifests together. A larger workspace is read in part. */
const charactersMax = 16 * 1024 * 1024;

export async function suggestPaths(github: Github, source: AppSource): Promise<string[]> {
  const { key, installationId, repositoryId, fullName, branch: ref, rootFolder } = source;
  return throughGithub(
    async () => {
      const grant = { permissions: { contents: 'read', metadata: 'read' }, repositoryIds: [repositoryId] } as const;
      const { token } = await github.createToken(key, installationId, grant);
      const paths = await github.listPaths(key.baseUrl, token, { fullName, ref });
      const wanted = manifestPathsOf(paths);
      const own = wanted.filter((path) => path.startsWith(`${rootFolder}/`));
      const read = [...new Set([...own, ...wanted])].slice(0, manifestsMax);
      const manifests = new Map<string, string>();
      let characters = 0;
      for (let from = 0; from < read.length && characters < charactersMax; from += requestsAtOnce) {
        const files = read.slice(from, from + requestsAtOnce).map(async (path) => {
          const text = await github.readFile(key.baseUrl, token, { fullName, ref, path });
          manifests.set(path, text);
          characters += text.length;
        });
        await Promise.all(files);
      }
      return suggestWatchPaths({ paths, manifests }, rootFolder);
    },
    { not_found: 'github.repository_not_found' },
  );
}
