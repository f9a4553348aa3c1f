import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { healthPathSchema } from '../app/index.ts';
import { hostSchema } from '../domain/index.ts';
import { refSchema, repositoryUrlSchema, rootFolderSchema } from './schema.ts';

// The agent's parser reads the same file.
const fixture = new URL('../../../contract/fixtures/accepted-input.json', import.meta.url);
const accepted: Readonly<Record<string, Readonly<Record<string, string>>>> = JSON.parse(readFileSync(fixture, 'utf8'));

const refused = (schema: typeof refSchema | typeof repositoryUrlSchema | typeof rootFolderSchema, value: string) =>
  expect(schema.safeParse(value).success, JSON.stringify(value)).toBe(false);
const taken = (schema: typeof refSchema | typeof repositoryUrlSchema | typeof rootFolderSchema, value: string) =>
  expect(schema.safeParse(value).success, JSON.stringify(value)).toBe(true);

test('a repository is an https or ssh address with a path and without a password', () => {
  for (const url of [
    'https://github.com/ada/shop',
    'https://git.example.test:8443/a/b.git',
    'http://127.0.0.1:4402/fairlead.git',
    'git@github.com:ada/shop.git',
    'ssh://git@example.test/shop.git',
    'ssh://git@example.test:2222/~ada/shop.git',
  ])
    taken(repositoryUrlSchema, url);
  for (const url of [
    '',
    'ssh://example.test/shop.git',
    'ssh://git:secret@example.test/shop.git',
    'ssh://-oProxyCommand=touch@example.test/shop.git',
    'ssh://git@-oProxyCommand=touch/shop.git',
    'ssh://git@example.test/../shop.git',
    'ssh://git@example.test/$(id)',
    'ssh://git@example.test/a b',
    'ssh://git@example.test/',
    'ssh://git@example.test:99999/shop.git',
    'git@-oProxyCommand=touch:shop.git',
    '-git@example.test:shop.git',
    'file:///etc/passwd',
    'ext::sh -c touch% /tmp/x',
    'https://ada:secret@example.test/shop.git',
    'https://token@example.test/shop.git',
    'https://example.test',
    'https://example.test/',
    'https://example.test/shop.git?x=1',
    'https://example.test/shop.git#main',
    'https://example.test/shop.git;rm -rf /',
    'https://example.test/$(id)',
    'https://example.test/`id`',
    'https://example.test/a b',
    'https://example.test/a\nb',
    'https://example.test/a\\b',
    'https://@github.com/ada/shop',
    'https://:@github.com/ada/shop',
    'https:////ada@github.com/shop',
    'HTTP://git.example.test/shop.git',
    'http://10.0.0.5/shop.git',
    'http://localhost.example.test/shop.git',
    'http://127.0.0.1.example.test/shop.git',
    'http://128.0.0.1/shop.git',
    '--upload-pack=touch',
    'https:example.test/shop',
    `https://example.test/${'a'.repeat(3000)}`,
    `https://example.test/${'^'.repeat(1000)}`,
  ])
    refused(repositoryUrlSchema, url);
  expect(repositoryUrlSchema.parse('git@github.com:ada/shop.git')).toBe('ssh://git@github.com/ada/shop.git');
});

test('a ref is a name that git allows and no option', () => {
  for (const ref of ['main', 'feature/new-door', 'v1.2.3', 'a'.repeat(40), 'release_2', 'größe']) taken(refSchema, ref);
  for (const ref of [
    ...[...`"'\`$;&|<>(){}!`].map((char) => `a${char}b`),
    '',
    '-main',
    '--upload-pack=x',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?b',
    'a*',
    'a[b',
    'a\\b',
    'a@{0}',
    '@',
    '/main',
    'main/',
    'a//b',
    'main.lock',
    'main.',
    '.hidden',
    'a/.b',
    'a\u0000b',
    'a\u007fb',
  ])
    refused(refSchema, ref);
});

test('a root folder stays inside the repository', () => {
  expect(rootFolderSchema.parse('/apps/web/')).toBe('apps/web');
  expect(rootFolderSchema.parse('./apps/web')).toBe('apps/web');
  expect(rootFolderSchema.parse('')).toBe('');
  expect(rootFolderSchema.parse('.')).toBe('');
  for (const folder of [
    '..',
    'a/../b',
    'a/..',
    'apps//web',
    '.git',
    'a/.git/hooks',
    '-rf',
    'a/-b',
    'a;b',
    'a$b',
    'a b',
    'a\nb',
    'a\\b',
    'a`b`',
  ])
    refused(rootFolderSchema, folder);
});

test('the stored form is the one that an agent takes', () => {
  const schemas = {
    repositoryUrl: repositoryUrlSchema,
    ref: refSchema,
    rootFolder: rootFolderSchema,
    healthPath: healthPathSchema,
    host: hostSchema,
  };
  for (const [field, schema] of Object.entries(schemas)) {
    const cases = Object.entries(accepted[field] ?? {});
    expect(cases.length, field).toBeGreaterThan(0);
    for (const [typed, stored] of cases) {
      expect(schema.parse(typed), `${field} ${typed}`).toBe(stored);
      expect(schema.parse(stored), `${field} ${stored}`).toBe(stored);
    }
  }
});
