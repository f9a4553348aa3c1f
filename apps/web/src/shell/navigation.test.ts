import { expect, test } from 'vitest';
import { pathsOf } from '../common/paths.ts';
import { placeOf, placesOf } from './navigation.ts';

const places = placesOf(pathsOf('acme'));

test.each([
  ['/acme', 'Overview'],
  ['/acme/apps', 'Apps'],
  ['/acme/apps/hello/domains', 'Apps'],
  ['/acme/deployments/dep_1', 'Apps'],
  ['/acme/domains', 'Domains'],
  ['/acme/servers/srv_1', 'Servers'],
  ['/acme/appsx', undefined],
])('%s lies in %s', (path, title) => expect(placeOf(places, path)?.title).toBe(title));

test('every shortcut letter is used once', () => {
  expect(new Set(places.map((place) => place.key)).size).toBe(places.length);
});
