import { expect, test } from 'vitest';
import { may, type Permission, rightsOf, wholeOrganization } from '../role/index.ts';
import { tokenRights } from './token-rights.ts';

const shop = { projectId: 'prj_shop', environmentId: null };
const live = { projectId: 'prj_shop', environmentId: 'env_live' };
const other = { projectId: 'prj_other', environmentId: 'env_other' };
const read = new Set<Permission>(['app.read', 'app.write']);
const owner = rightsOf('owner', [{ ...wholeOrganization, permissions: ['app.read', 'app.write', 'token.write'] }]);
const helper = rightsOf('viewer', [
  { ...wholeOrganization, permissions: ['app.read'] },
  { ...live, permissions: ['app.write'] },
]);

test('a token has the permissions that both it and its owner have, and is never an owner', () => {
  const rights = tokenRights(owner, new Set<Permission>(['app.read', 'secret.read']), { kind: 'everywhere' });
  expect(rights.isOwner).toBe(false);
  expect(may(rights, 'app.read')).toBe(true);
  expect(may(rights, 'app.write')).toBe(false);
  expect(may(rights, 'secret.read')).toBe(false);
});

test('a token of a project opens nothing outside of it', () => {
  const place = { kind: 'project', projectId: 'prj_shop', environmentIds: ['env_live'] } as const;
  const rights = tokenRights(owner, read, place);
  expect(may(rights, 'app.read', shop)).toBe(true);
  expect(may(rights, 'app.write', live)).toBe(true);
  expect(may(rights, 'app.read', other)).toBe(false);
  expect(may(rights, 'app.read')).toBe(false);
  const limited = tokenRights(helper, read, place);
  expect(may(limited, 'app.write', live)).toBe(true);
  expect(may(limited, 'app.write', shop)).toBe(false);
});

test('a token of an environment opens neither its project nor other environments', () => {
  const place = { kind: 'environment', projectId: 'prj_shop', environmentId: 'env_live' } as const;
  const rights = tokenRights(owner, read, place);
  expect(may(rights, 'app.write', live)).toBe(true);
  expect(may(rights, 'app.write', shop)).toBe(false);
  expect(may(rights, 'app.write', { ...live, environmentId: 'env_next' })).toBe(false);
  expect(may(tokenRights(helper, read, { ...place, environmentId: 'env_next' }), 'app.write', live)).toBe(false);
});
