import { expect, test } from 'vitest';
import { manifestPathsOf, suggestWatchPaths } from './workspace-paths.ts';

/** Files of a repository by path; null: its content is not read. */
function suggest(files: Readonly<Record<string, string | object | null>>, rootFolder: string): string[] {
  const paths = Object.keys(files);
  const textOf = (path: string) => {
    const content = files[path];
    return typeof content === 'string' ? content : JSON.stringify(content);
  };
  const manifests = new Map(manifestPathsOf(paths).map((path) => [path, textOf(path)]));
  return suggestWatchPaths({ paths, manifests }, rootFolder);
}

test('an npm workspace watches the packages that the app needs, directly or not', () => {
  const files = {
    'package.json': { workspaces: ['apps/*', 'packages/*'] },
    'package-lock.json': null,
    'apps/web/package.json': { name: 'web', dependencies: { '@acme/ui': '*', react: '19' } },
    'apps/api/package.json': { name: 'api', dependencies: { '@acme/db': '*' } },
    'packages/ui/package.json': { name: '@acme/ui', devDependencies: { '@acme/config': '*' } },
    'packages/db/package.json': { name: '@acme/db' },
    'packages/config/package.json': { name: '@acme/config', peerDependencies: { '@acme/ui': '*' } },
    'examples/ui/package.json': { name: '@acme/db' },
  };
  expect(suggest(files, 'apps/web')).toEqual([
    'apps/web/**',
    'packages/config/**',
    'packages/ui/**',
    'package.json',
    'package-lock.json',
  ]);
  expect(suggest(files, 'apps/api')).toEqual(['apps/api/**', 'packages/db/**', 'package.json', 'package-lock.json']);
});

test('pnpm names its packages in YAML, Turborepo its global files, and a file reference counts', () => {
  const files = {
    'package.json': { name: 'root', private: true },
    'pnpm-workspace.yaml':
      "# Packages\npackages:\n  - 'apps/*'\n  - \"libs/**\" # all\n  - '!libs/old'\ncatalog:\n  react: 19\n",
    'pnpm-lock.yaml': null,
    'turbo.json': { globalDependencies: ['tsconfig.base.json'] },
    'apps/web/package.json': { name: 'web', dependencies: { a: 'workspace:^', old: '1', tool: 'file:../../tools/t' } },
    'libs/deep/a/package.json': { name: 'a' },
    'libs/old/package.json': { name: 'old' },
    'tools/t/package.json': { name: 't' },
  };
  expect(suggest(files, 'apps/web/')).toEqual([
    'apps/web/**',
    'libs/deep/a/**',
    'tools/t/**',
    'package.json',
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'turbo.json',
    'tsconfig.base.json',
  ]);
});

test('Cargo follows paths, also those of the workspace and in tables of their own', () => {
  const files = {
    'Cargo.toml':
      '[workspace]\nmembers = ["crates/*"]\n[workspace.dependencies]\nserde = "1"\nmodel = { path = "crates/model", version = "0.1" }\n',
    'Cargo.lock': null,
    '.cargo/config.toml': null,
    'crates/server/Cargo.toml':
      '[package]\nname = "server"\n[dependencies]\nserde.workspace = true\nmodel = { workspace = true }\n# old = { path = "../old" }\n[dev-dependencies.testing]\npath = "../testing"\n',
    'crates/model/Cargo.toml':
      '[package]\nname = "model"\n[target.\'cfg(unix)\'.dependencies]\nbase = { path = "../base" }\n',
    'crates/base/Cargo.toml': '[package]\nname = "base"\n',
    'crates/testing/Cargo.toml': '[package]\nname = "testing"\n',
    'crates/old/Cargo.toml': '[package]\nname = "old"\n',
  };
  expect(suggest(files, 'crates/server')).toEqual([
    'crates/server/**',
    'crates/base/**',
    'crates/model/**',
    'crates/testing/**',
    'Cargo.toml',
    'Cargo.lock',
    '.cargo/**',
  ]);
});

test('Go follows replaced modules, and modules of its workspace', () => {
  const files = {
    'go.work': 'go 1.25\nuse (\n\t./services/api // main\n\t./libs/store\n)\nuse ./libs/log\n',
    'services/api/go.mod':
      'module example.com/api\nrequire (\n\texample.com/store v0.0.0\n\texample.com/other v1.0.0\n)\nreplace example.com/other => ../../libs/other\n',
    'libs/store/go.mod': 'module example.com/store\nrequire example.com/log v0.0.0\n',
    'libs/log/go.mod': 'module example.com/log\n',
    'libs/other/go.mod': 'module example.com/other\n',
    'libs/unused/go.mod': 'module example.com/unused\n',
  };
  expect(suggest(files, 'services/api')).toEqual([
    'services/api/**',
    'libs/log/**',
    'libs/other/**',
    'libs/store/**',
    'go.work',
  ]);
});

test('nothing is suggested for the whole repository, a folder without a manifest, and what leads out of it', () => {
  const files = { 'package.json': { name: 'root' }, 'app/package.json': { dependencies: { x: 'file:../../x' } } };
  expect(suggest(files, '')).toEqual([]);
  expect(suggest(files, 'docs')).toEqual([]);
  expect(suggest(files, 'app')).toEqual(['app/**', 'package.json']);
  expect(suggest({ 'package.json': 'not JSON', 'app/package.json': '{' }, 'app')).toEqual(['app/**', 'package.json']);
});

test('manifests of dependencies and fixtures are not read', () => {
  const paths = ['a/b/go.mod', 'node_modules/x/package.json', 'package.json', 'x/fixtures/package.json', 'a/turbo.txt'];
  expect(manifestPathsOf(paths)).toEqual(['package.json', 'a/b/go.mod']);
});
