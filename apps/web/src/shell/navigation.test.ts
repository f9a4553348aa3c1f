import { expect, test } from 'vitest';
import { pathsOf } from '../common/organization/paths.ts';
import { navItemOf, navItemsOf } from './navigation.ts';

const items = navItemsOf(pathsOf('acme'));

test.each([
  ['/acme', 'Overview'],
  ['/acme/apps', 'Apps'],
  ['/acme/apps/hello/domains', 'Apps'],
  ['/acme/deployments/dep_1', 'Apps'],
  ['/acme/domains', 'Domains'],
  ['/acme/servers/srv_1', 'Servers'],
  ['/acme/appsx', undefined],
])('%s lies in %s', (path, title) => expect(navItemOf(items, path)?.title).toBe(title));

test('every shortcut letter is unique', () => {
  expect(new Set(items.map((item) => item.key)).size).toBe(items.length);
});
