import { expect, test } from 'vitest';
import {
  appFoldersOf,
  appSettingsUrl,
  appUrl,
  findForeign,
  installUrl,
  manageUrl,
  manifestOf,
  normalizeBaseUrl,
  registrationUrl,
} from './rules.ts';

test.each([
  ['https://github.com', 'https://github.com'],
  [' https://GitHub.example.com/ ', 'https://github.example.com'],
  ['https://github.example.com:8443', 'https://github.example.com:8443'],
  ['http://127.0.0.1:4000', 'http://127.0.0.1:4000'],
  ['http://github.example.com', null],
  ['http://localhost:4000', null],
  ['https://user:password@github.example.com', null],
  ['https://github.example.com/path', null],
  ['https://github.example.com/?q=1', null],
  ['javascript:alert(1)', null],
  ['github.example.com', null],
])('%s may get credentials as %s', (typed, origin) => expect(normalizeBaseUrl(typed)).toBe(origin));

test('a manifest asks for the least, and its name fits GitHub', () => {
  const place = { githubAppId: 'gha_0123456789abcdefghij', publicUrl: 'https://fairlead.example.test' };
  const manifest = JSON.parse(manifestOf({ ...place, organizationSlug: 'a-very-long-name-of-an-organization' }));
  expect(manifest.name).toHaveLength(34);
  expect(manifest.name).toMatch(/-fghij$/);
  expect(manifest).toMatchObject({ public: false, request_oauth_on_install: true });
  expect(manifest.hook_attributes.url).toBe(`${place.publicUrl}/api/webhook/${place.githubAppId}`);
  expect(Object.values(manifest.default_permissions)).not.toContain('admin');
  expect(manifest.default_permissions.contents).toBe('read');
});

test('a manifest names the pages of every address, as many as GitHub takes', () => {
  const urlsOf = (origins: string[]) =>
    JSON.parse(manifestOf({ githubAppId: 'gha_1', publicUrl: 'https://a.test', origins, organizationSlug: 'acme' }))
      .callback_urls;
  expect(urlsOf(['https://b.test', 'https://a.test'])).toEqual([
    'https://a.test/acme/settings/git/installed',
    'https://a.test/account/github',
    'https://a.test/sign-in/github',
    'https://b.test/account/github',
    'https://b.test/sign-in/github',
  ]);
  expect(urlsOf(['b', 'c', 'd', 'e', 'f'].map((name) => `https://${name}.test`))).toHaveLength(10);
});

test('an address that is none of the dashboard’s is found, and any of them will do', () => {
  const place = { githubAppId: 'gha_1', publicUrl: 'https://a.test', origins: ['https://b.test'] };
  const find = (webhookUrl: string, homepageUrl: string) => findForeign(place, { webhookUrl, homepageUrl });
  const own = { webhook: false, homepage: false };
  expect(find('https://a.test/api/webhook/gha_1', 'https://a.test')).toEqual(own);
  expect(find('https://b.test/api/webhook/gha_1', 'https://b.test/')).toEqual(own);
  expect(find('https://old.test/api/webhook/gha_1', 'https://a.test')).toEqual({ ...own, webhook: true });
  expect(find('https://a.test/api/webhook/gha_2', 'https://a.test')).toEqual({ ...own, webhook: true });
  expect(find('https://a.test/api/webhook/gha_1', 'https://old.test')).toEqual({ ...own, homepage: true });
  expect(find('', '')).toEqual({ webhook: true, homepage: true });
});

test('addresses at github.com and at an Enterprise Server differ where GitHub has them differ', () => {
  const [dotCom, server] = ['https://github.com', 'https://github.example.com'];
  expect(registrationUrl(dotCom, '', 's')).toBe(`${dotCom}/settings/apps/new?state=s`);
  expect(registrationUrl(dotCom, 'acme', 's')).toBe(`${dotCom}/organizations/acme/settings/apps/new?state=s`);
  expect(appUrl({ baseUrl: server, slug: 'x' })).toBe(`${server}/github-apps/x`);
  expect(installUrl({ baseUrl: dotCom, slug: 'x' }, 's')).toBe(`${dotCom}/apps/x/installations/new?state=s`);
  const account = { baseUrl: dotCom, installationId: 7n, accountLogin: 'acme' };
  const app = { baseUrl: dotCom, slug: 'x' };
  expect(appSettingsUrl(app, 'ada', 'User')).toBe(`${dotCom}/settings/apps/x`);
  expect(appSettingsUrl(app, 'acme', 'Organization')).toBe(`${dotCom}/organizations/acme/settings/apps/x`);
  expect(appSettingsUrl(app, 'acme', 'Enterprise')).toBe(`${dotCom}/enterprises/acme/settings/apps/x`);
  expect(manageUrl({ ...account, accountType: 'User' })).toBe(`${dotCom}/settings/installations/7`);
  expect(manageUrl({ ...account, accountType: 'Organization' })).toBe(
    `${dotCom}/organizations/acme/settings/installations/7`,
  );
});

test('folders with an app’s manifest are suggested, and those of dependencies and tests are not', () => {
  const paths = [
    'package.json',
    'apps/web/package.json',
    'apps/web/src/index.ts',
    'services/api/go.mod',
    'services/api/Dockerfile',
    'node_modules/left-pad/package.json',
    'apps/web/node_modules/x/package.json',
    'packages/a/test/fixtures/app/package.json',
    '.github/package.json',
    'a/b/c/d/e/package.json',
  ];
  expect(appFoldersOf(paths)).toEqual(['', 'apps/web', 'services/api']);
  expect(appFoldersOf(Array.from({ length: 500 }, (_, index) => `apps/a${index}/package.json`))).toHaveLength(100);
});
