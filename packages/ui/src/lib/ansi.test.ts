import { expect, test } from 'vitest';
import { ansiParts } from './ansi.ts';
import { plainText } from './plain-text.ts';

const ESC = '\u001b';
const coloured = (raw: string) => ansiParts(raw).map(({ text, colour }) => [text, colour]);

test('terminal codes are removed and an overwritten line shows its last state', () => {
  expect(plainText(`${ESC}[32mok${ESC}[0m done`)).toBe('ok done');
  expect(plainText('10%\r50%\r100%')).toBe('100%');
  expect(plainText('windows line\r')).toBe('windows line');
  expect(plainText(`${ESC}]8;;https://a\u0007link`)).toBe('link');
  expect(plainText('a\tb')).toBe('a    b');
});

test('colours split a line, and end where they are reset', () => {
  expect(coloured(`${ESC}[1m${ESC}[31merror${ESC}[0m: ${ESC}[36msrc/a.ts${ESC}[39m:3`)).toEqual([
    ['error', 'red'],
    [': ', null],
    ['src/a.ts', 'cyan'],
    [':3', null],
  ]);
  expect(ansiParts(`${ESC}[1m${ESC}[31merror`)[0]).toMatchObject({ bold: true });
});

test('bright, palette and true colours become the nearest of ours', () => {
  expect(coloured(`${ESC}[92ma${ESC}[38;5;208mb${ESC}[38;2;90;120;255mc${ESC}[90md${ESC}[97me`)).toEqual([
    ['a', 'green'],
    ['b', 'yellow'],
    ['c', 'blue'],
    ['d', 'grey'],
    ['e', null],
  ]);
});

test('a background and reversed colours stay visible', () => {
  expect(ansiParts(`${ESC}[41m${ESC}[37m FAIL ${ESC}[0m`)[0]).toMatchObject({ background: 'red' });
  expect(ansiParts(`${ESC}[7m${ESC}[31m FAIL ${ESC}[0m`)[0]).toMatchObject({ background: 'red' });
});

test.each([
  'plain',
  '',
  `${ESC}[2K${ESC}[1Gprogress ${ESC}[32m50%${ESC}[0m`,
  `a\r${ESC}[31mb\tc${ESC}[0m\r`,
  `${ESC}]0;title\u0007${ESC}[33mwarn${ESC}[0m`,
  `${ESC}[?25l${ESC}[31mhidden cursor${ESC}[?25h`,
])('the parts of %j are its plain text', (raw) => {
  expect(
    ansiParts(raw)
      .map(({ text }) => text)
      .join(''),
  ).toBe(plainText(raw));
});
