import { expect, test } from 'vitest';
import { pathsOf } from '../common/organization/paths.ts';
import { navItemOf, navItemsOf } from './navigation.ts';

const items = navItemsOf(pathsOf('acme'));

test.each([
  ['/acme', 'Overview'],
  ['/acme/apps', 'Apps'],
  ['/acme/apps/hello/domains', 'Apps'],
  ['/acme/deployments/dep_1', 'Deployments'],
  ['/acme/deliveries/dlv_1', 'Deployments'],
  ['/acme/projects', 'Projects'],
  ['/acme/domains', 'Domains'],
  ['/acme/certificates/crt_1', 'Certificates'],
  ['/acme/servers/srv_1', 'Servers'],
  ['/acme/appsx', undefined],
])('%s lies in %s', (path, title) => expect(navItemOf(items, path)?.title).toBe(title));

test('overview and apps keep the project of the page, and other pages show all', () => {
  const projectId = 'prj_00000000000000000000';
  const hrefs = (query: string) => navItemsOf(pathsOf('acme'), query).map(({ href }) => href);
  expect(hrefs(`search=x&project=${projectId}`).filter((href) => href.includes('?'))).toEqual([
    `/acme?project=${projectId}`,
    `/acme/apps?project=${projectId}`,
  ]);
  expect(hrefs('project=../evil').every((href) => !href.includes('?'))).toBe(true);
  expect(navItemOf(navItemsOf(pathsOf('acme'), `project=${projectId}`), '/acme/apps')?.title).toBe('Apps');
});

test('every shortcut letter is unique', () => {
  expect(new Set(items.map((item) => item.key)).size).toBe(items.length);
});
