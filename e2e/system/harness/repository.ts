// Git repositories of test apps, created commit by commit and served over HTTP.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, run } from '../../../tools/lib/command.ts';
import { type SourceServer, serveSource } from '../../../tools/start/source-repository.ts';

export type Files = Readonly<Record<string, string>>;

export interface Repository {
  readonly url: string;
  /**
   * Writes the files, deletes those given as null, commits to a ref, by default the branch, and returns the full commit
   * hash.
   */
  commit(subject: string, files: Readonly<Record<string, string | null>>, ref?: string): Promise<string>;
}

export interface Repositories {
  create(name: string, files: Files, branch?: string): Promise<Repository>;
  /** Creates a repository with an app of `examples/` in its root folder. */
  createExample(name: string, example: string): Promise<Repository>;
  /**
   * Creates a repository with one commit of another one, without history, as branch main. `source` is a URL for git
   * fetch.
   */
  copy(name: string, source: string, commit: string): Promise<Pick<Repository, 'url'>>;
  /** Delays every clone until this resolves; undefined stops delaying. */
  holdClones(until: (() => Promise<void>) | undefined): void;
  close(): Promise<void>;
}

const IDENTITY = ['-c', 'user.name=Ada Example', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false'];

export async function serveRepositories(folder: string, port: number): Promise<Repositories> {
  const served = join(folder, 'served');
  mkdirSync(served, { recursive: true });
  let held: (() => Promise<void>) | undefined;
  const refresh = async () => held?.();
  const server: SourceServer = await serveSource({ port, folder: served, refresh });

  async function open(name: string, branch = 'main'): Promise<Repository> {
    const bare = join(served, `${name}.git`);
    const work = join(folder, 'work', name);
    await git(['init', '--quiet', '--bare', `--initial-branch=${branch}`, bare]);
    await git(['init', '--quiet', '--initial-branch=main', work]);
    return {
      url: server.url(name),
      async commit(subject, files, ref = `refs/heads/${branch}`) {
        for (const [path, text] of Object.entries(files)) {
          const file = join(work, path);
          if (text === null) rmSync(file, { recursive: true, force: true });
          else {
            mkdirSync(dirname(file), { recursive: true });
            writeFileSync(file, text);
          }
        }
        await git(['-C', work, 'add', '--all']);
        await git(['-C', work, ...IDENTITY, 'commit', '--quiet', '--allow-empty', '--message', subject]);
        await git(['-C', work, 'push', '--quiet', bare, `+HEAD:${ref}`]);
        return (await git(['-C', work, 'rev-parse', 'HEAD'])).trim();
      },
    };
  }

  return {
    async create(name, files, branch) {
      const repository = await open(name, branch);
      await repository.commit('First version', files);
      return repository;
    },
    async createExample(name, example) {
      const repository = await open(name);
      cpSync(join(ROOT, 'examples', example), join(folder, 'work', name), { recursive: true });
      await repository.commit('Say hello', {});
      return repository;
    },
    async copy(name, source, commit) {
      const bare = join(served, `${name}.git`);
      await git(['init', '--quiet', '--bare', '--initial-branch=main', bare]);
      await git(['-C', bare, 'fetch', '--quiet', '--depth=1', '--no-tags', source, `${commit}:refs/heads/main`]);
      return { url: server.url(name) };
    },
    holdClones(until) {
      held = until;
    },
    close: () => server.close(),
  };
}

async function git(args: readonly string[]): Promise<string> {
  const result = await run('git', args);
  if (result.code !== 0) throw new Error(`git ${args.join(' ')}: ${result.output}`);
  return result.stdout;
}
