// Paths that the identity library would serve if it were mounted whole: for the test that it is not. Tests only.
import { type AuthOptions, authPath, buildLibrary } from '../library.ts';

export interface LibraryPath {
  readonly method: string;
  readonly path: string;
}

/** Returns every path of the library below `authPath`, with a value for each parameter. */
export function libraryPaths(options: AuthOptions): LibraryPath[] {
  const endpoints = Object.values(buildLibrary(options).api) as { path?: string; options?: { method?: unknown } }[];
  return endpoints.flatMap(({ path, options: declared }) => {
    if (path === undefined) return [];
    const methods = [declared?.method ?? ['GET', 'POST']]
      .flat()
      .filter((method) => method === 'GET' || method === 'POST');
    return methods.map((method) => ({ method: String(method), path: `${authPath}${path.replaceAll(/:[^/]+/g, 'x')}` }));
  });
}
