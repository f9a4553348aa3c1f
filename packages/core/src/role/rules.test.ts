import { expect, test } from 'vitest';
import { can, permissionsOf } from './rules.ts';
import { permissionSchema, roleSchema } from './schema.ts';

test('an owner may do everything, a viewer only read', () => {
  expect(permissionsOf('owner')).toEqual(permissionSchema.options);
  expect(permissionsOf('viewer').every((permission) => permission.endsWith('.read'))).toBe(true);
});

test('a developer deploys but neither deletes apps nor touches servers', () => {
  expect(can('developer', 'deployment.write')).toBe(true);
  for (const permission of ['app.delete', 'server.enrol', 'server.delete', 'server.write'] as const)
    expect(can('developer', permission)).toBe(false);
});

test('every role may read everything that everyone may', () => {
  for (const role of roleSchema.options)
    expect(permissionsOf(role)).toEqual(expect.arrayContaining(permissionsOf('viewer')));
});
