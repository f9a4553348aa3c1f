import { rankCommands } from '@fairlead/ui/lib/command-score';
import { expect, test } from 'vitest';
import { pathsOf } from '../../common/organization/paths.ts';
import { appPages, deploymentNumberOf, pageOfId, palettePages } from './pages.ts';

const paths = pathsOf('acme');
const all = palettePages(paths, { can: () => true, isOperator: true });
const first = (search: string) => rankCommands(all, search)[0]?.title;

test.each([
  ['audit', 'Audit log'],
  ['token', 'API tokens'],
  ['invite', 'Invite members'],
  ['environments', 'Environments'],
  ['2fa', 'Require two-factor sign-in'],
  ['smtp', 'Email'],
  ['backups', 'Backups'],
  ['passkey', 'Passkeys'],
  ['docker', 'Containers'],
  ['docs', 'Guide'],
])('“%s” finds %s', (search, title) => expect(first(search)).toBe(title));

test('pages that the reader may not open are left out', () => {
  const few = palettePages(paths, { can: () => false, isOperator: false }).map(({ title }) => title);
  expect(few).not.toContain('Audit log');
  expect(few).not.toContain('Backups');
  expect(few).toContain('Your account');
});

test('every entry has an address of its own', () => {
  expect(new Set(all.map(({ href, title }) => `${href} ${title}`)).size).toBe(all.length);
});

test("an app's pages name the environment unless it is the primary one", () => {
  const app = { slug: 'shop', environmentId: 'env_1', isPrimary: false };
  expect(appPages(paths, app)[1]?.href).toBe('/acme/apps/shop/logs?environment=env_1');
  expect(appPages(paths, { ...app, isPrimary: true })[1]?.href).toBe('/acme/apps/shop/logs');
});

test('an id opens its page', () => {
  const id = 'dep_0123456789abcdefGHIJ';
  expect(pageOfId(paths, id)?.href).toBe(`/acme/deployments/${id}`);
  expect(pageOfId(paths, 'dep_short')).toBeNull();
  expect(pageOfId(paths, 'xyz_0123456789abcdefGHIJ')).toBeNull();
});

test.each([
  ['#12', { app: '', number: 12 }],
  ['12', { app: '', number: 12 }],
  ['hello #12', { app: 'hello', number: 12 }],
  ['hello', null],
  ['#0', null],
])('%s is a deployment: %j', (search, expected) => expect(deploymentNumberOf(search)).toEqual(expected));
