import { expect, test } from 'vitest';
import { limitRights, may, mayAnywhere, rightsOf, wholeOrganization } from './rights.ts';
import { ownerRights, permissionsOf } from './rules.ts';

const shop = { projectId: 'prj_shop', environmentId: null };
const production = { projectId: 'prj_shop', environmentId: 'env_production' };
const staging = { projectId: 'prj_shop', environmentId: 'env_staging' };
const other = { projectId: 'prj_other', environmentId: 'env_other' };

test('a role in the organization holds everywhere in it', () => {
  const rights = rightsOf('developer', [{ ...wholeOrganization, permissions: permissionsOf('developer') }]);
  for (const scope of [undefined, shop, production, other]) expect(may(rights, 'app.write', scope)).toBe(true);
  expect(may(rights, 'app.delete', production)).toBe(false);
});

test('a grant in a project holds in its environments and nowhere else', () => {
  const rights = rightsOf('viewer', [{ ...shop, permissions: ['app.write'] }]);
  expect([shop, production, staging].every((scope) => may(rights, 'app.write', scope))).toBe(true);
  expect([undefined, other].some((scope) => may(rights, 'app.write', scope))).toBe(false);
  expect(mayAnywhere(rights, 'app.write')).toBe(true);
  expect(mayAnywhere(rights, 'app.delete')).toBe(false);
});

test('a grant in an environment holds neither in its project nor in other environments', () => {
  const rights = rightsOf('viewer', [{ ...production, permissions: ['deployment.write'] }]);
  expect(may(rights, 'deployment.write', production)).toBe(true);
  expect([undefined, shop, staging, other].some((scope) => may(rights, 'deployment.write', scope))).toBe(false);
});

test('limited rights are never more than either side, and never those of an owner', () => {
  const limited = limitRights(ownerRights, new Set(['app.read', 'member.write']));
  expect([...limited.organization].sort()).toEqual(['app.read', 'member.write']);
  expect(limited.isOwner).toBe(false);
  const scoped = limitRights(
    rightsOf('viewer', [{ ...production, permissions: ['app.write'] }]),
    new Set(['app.read']),
  );
  expect(mayAnywhere(scoped, 'app.write')).toBe(false);
});
