import { expect, test } from 'vitest';
import { safeNext } from './safe-next.ts';

test.each([
  ['/acme/apps?search=x', '/acme/apps?search=x'],
  ['/acme/deployments/dep_1?view=log#L12', '/acme/deployments/dep_1?view=log#L12'],
  [null, '/'],
  [undefined, '/'],
  ['', '/'],
  ['https://evil.example/', '/'],
  ['//evil.example/', '/'],
  ['/\\evil.example', '/'],
  ['/\t/evil.example', '/'],
  ['javascript:alert(1)', '/'],
  ['/..//evil.example/x', '/'],
  ['/.//evil.example/x', '/'],
  ['/a/..//evil.example/x', '/'],
  ['/%2e%2e//evil.example/x', '/'],
  ['/a/../..//evil.example', '/'],
  ['/a/../acme', '/acme'],
])('%j leads to %s', (next, path) => expect(safeNext(next)).toBe(path));
