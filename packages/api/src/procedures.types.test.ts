// Type tests: `tsc` fails if one of the marked lines compiles.
import { appIdSchema } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { z } from 'zod';
import * as procedures from './procedures.ts';
import { byPlacement, bySeenPlacement } from './scopes.ts';

test('a procedure for members without a permission, or with one that does not exist, does not compile', () => {
  // @ts-expect-error a permission is required
  expect(() => procedures.memberProcedure()).not.toThrow();
  // @ts-expect-error not a permission
  expect(() => procedures.memberProcedure('everything')).not.toThrow();
  // @ts-expect-error a permission is required for streams too
  expect(() => procedures.memberStream()).not.toThrow();
  expect(() => procedures.memberProcedure('app.read')).not.toThrow();
});

test('a scope that reads a field that the input may lack does not compile', () => {
  const app = z.object({ appId: appIdSchema });
  const anyApp = z.object({ appId: appIdSchema.optional() });
  expect(() => procedures.memberProcedure('app.read', { input: app, scope: byPlacement })).not.toThrow();
  // @ts-expect-error the input may come without an app: all of the organization would be judged as if it were one
  expect(() => procedures.memberProcedure('app.read', { input: anyApp, scope: byPlacement })).not.toThrow();
  // @ts-expect-error the scope reads a field that the schema drops
  expect(() => procedures.memberProcedure('app.read', { input: app, scope: bySeenPlacement })).not.toThrow();
  // @ts-expect-error a scope without an input
  expect(() => procedures.memberProcedure('app.read', { scope: byPlacement })).not.toThrow();
});

test('the bare builder, which would know no access level, is not exported', () => {
  expect(Object.keys(procedures).sort()).toEqual([
    'createCallerFactory',
    'freshOperatorProcedure',
    'memberProcedure',
    'memberRequest',
    'memberStream',
    'operatorProcedure',
    'ownViewProcedure',
    'publicProcedure',
    'router',
    'signedInProcedure',
  ]);
});
