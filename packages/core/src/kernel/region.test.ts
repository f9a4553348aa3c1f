import { expect, test } from 'vitest';
import { isLocale, isTimeZone } from './region.ts';

test.each([
  ['de-DE', true],
  ['zh-Hant-TW', true],
  ['en', true],
  ['tlh', false],
  ['DE-de', false],
  ['en-GB-u-nu-deva', false],
  ['en-x-anything', false],
  ['English', false],
  ['', false],
])('%j as a locale: %s', (text, isOne) => expect(isLocale(text)).toBe(isOne));

test.each([
  ['Asia/Kolkata', true],
  ['America/Argentina/Buenos_Aires', true],
  ['UTC', true],
  ['+05:30', false],
  ['Mars/Olympus', false],
  ['', false],
])('%j as a time zone: %s', (text, isOne) => expect(isTimeZone(text)).toBe(isOne));
