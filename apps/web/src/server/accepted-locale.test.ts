import { expect, test } from 'vitest';
import { acceptedLocale } from './accepted-locale.ts';

test.each([
  ['de-DE,de;q=0.9,en;q=0.8', 'de-DE'],
  ['tlh, fr-CH ;q=0.9', 'fr-CH'],
  ['*', 'en-US'],
  ['', 'en-US'],
  // Extensions would make more locales than there are.
  ['en-GB-u-nu-deva, en-GB;q=0.9', 'en-GB'],
])('%s leads to %s', (header, locale) => expect(acceptedLocale(header)).toBe(locale));
