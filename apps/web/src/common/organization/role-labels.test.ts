import { permissionSchema } from '@fairlead/core/role/schema';
import { expect, test } from 'vitest';
import { PERMISSION_GROUPS } from './role-labels.ts';

test('every permission is in one group, so that a role can be given it', () => {
  const shown = PERMISSION_GROUPS.flatMap(({ permissions }) => permissions.map(([permission]) => permission));
  expect([...shown].sort()).toEqual([...permissionSchema.options].sort());
});
