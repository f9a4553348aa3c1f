// What must not compile. `tsc` fails when one of the lines marked here is no error any more.
import { expect, test } from 'vitest';
import * as ladder from './ladder.ts';

test('a procedure for members without a permission, or with one that does not exist, does not compile', () => {
  // @ts-expect-error a permission is required
  expect(() => ladder.memberProcedure()).not.toThrow();
  // @ts-expect-error not a permission
  expect(() => ladder.memberProcedure('everything')).not.toThrow();
  // @ts-expect-error a permission is required for streams too
  expect(() => ladder.memberStream()).not.toThrow();
  expect(() => ladder.memberProcedure('app.read')).not.toThrow();
});

test('the bare builder, which would know no access level, is not exported', () => {
  expect(Object.keys(ladder).sort()).toEqual([
    'createCallerFactory',
    'memberProcedure',
    'memberStream',
    'publicProcedure',
    'router',
    'signedInProcedure',
  ]);
});
