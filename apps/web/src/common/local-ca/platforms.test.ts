import { expect, test } from 'vitest';
import { PLATFORMS, rootFileName } from './platforms.ts';

test('the name of a server can not escape the commands that people copy', () => {
  expect(rootFileName('Berlin 1')).toBe('fairlead-berlin-1');
  expect(rootFileName('x; rm -rf / #')).toBe('fairlead-x-rm-rf');
  for (const { command } of PLATFORMS) expect(command?.(rootFileName('$(id)')) ?? '').not.toContain('$(');
});
