import { expect, test } from 'vitest';
import { suggestName } from './app-form.ts';

test.each([
  ['https://github.com/acme/shop.git', 'shop'],
  ['https://git.example.com/shop', 'shop'],
  ['https://github.com', ''],
  ['shop', ''],
])('%s suggests the name %j', (url, name) => expect(suggestName(url)).toBe(name));
