import { expect, test } from 'vitest';
import { commandKeyOf } from './command-key.ts';

test.each([
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15', '⌘'],
  ['Mozilla/5.0 (iPad; CPU OS 17_0 like Mac OS X)', '⌘'],
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36', 'Ctrl'],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64)', 'Ctrl'],
])('%s has %s', (userAgent, key) => expect(commandKeyOf(userAgent)).toBe(key));
