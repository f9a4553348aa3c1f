import { expect, test } from 'vitest';
import { safeNext } from './safe-next.ts';

test.each([
  ['/acme/apps?search=x', '/acme/apps?search=x'],
  [null, '/'],
  [undefined, '/'],
  ['', '/'],
  ['https://evil.example/', '/'],
  ['//evil.example/', '/'],
  ['/\\evil.example', '/'],
  ['/\t/evil.example', '/'],
  ['javascript:alert(1)', '/'],
])('%j leads to %s', (next, path) => expect(safeNext(next)).toBe(path));
