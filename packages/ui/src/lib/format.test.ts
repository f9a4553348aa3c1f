import { describe, expect, test } from 'vitest';
import { formatAgo, numberFormats, repositoryName, shortHash } from './format.ts';

const {
  formatBytes,
  formatCount,
  formatCpu,
  formatDuration,
  formatFixed,
  formatInteger,
  formatMs,
  formatPercent,
  formatRatio,
  plural,
} = numberFormats('en-US');

describe('numbers', () => {
  test.each([
    [0, '0'],
    [0.004, '<0.01'],
    [0.005, '0.01'],
    [3, '3'],
    [3.123, '3.12'],
    [42.06, '42.1'],
    [999.6, '1,000'],
    [1234, '1,234'],
    [12_345, '12.3k'],
    [4_200_000, '4.2M'],
    [1.5e9, '1.5B'],
    [Number.NaN, '–'],
  ])('count %d reads %s', (value, text) => expect(formatCount(value)).toBe(text));

  test.each([
    [0, '0 ms'],
    [0.42, '420 µs'],
    [0.0001, '1 µs'],
    [1.5, '1.5 ms'],
    [12.34, '12.3 ms'],
    [850, '850 ms'],
    [2500, '2.5 s'],
    [125_000, '2 m 05 s'],
    [null, '–'],
  ])('latency %s reads %s', (value, text) => expect(formatMs(value)).toBe(text));

  test.each([
    [0, '0 B'],
    [512, '512 B'],
    [1024, '1 KiB'],
    [52_428_800, '50 MiB'],
    [1_610_612_736, '1.5 GiB'],
    [undefined, '–'],
  ])('bytes %s read %s', (value, text) => expect(formatBytes(value)).toBe(text));

  test('CPU is a share of the whole machine, at most all of it', () => {
    expect(formatCpu(4, 1)).toBe('0.4 %');
    expect(formatCpu(1500, 2)).toBe('75 %');
    expect(formatCpu(2020, 2)).toBe('100 %');
    expect(formatCpu(0, 8)).toBe('0 %');
    expect(formatCpu(0.1, 8)).toBe('<0.01 %');
    expect(formatCpu(1500, 0)).toBe('1.5 cores');
    expect(formatCpu(null, 2)).toBe('–');
  });

  test('shares and ratios', () => {
    expect(formatPercent(0.1234)).toBe('12.3 %');
    expect(formatRatio(1.418)).toBe('1.42×');
    expect(formatRatio(Number.POSITIVE_INFINITY)).toBe('–');
  });

  test('a column keeps its decimals and leaves missing values empty', () => {
    expect([0.5, 12, null, Number.NaN].map((value) => formatFixed(value, 2))).toEqual(['0.50', '12.00', '', '']);
  });

  test('plural', () => {
    expect(plural(1, 'app')).toBe('1 app');
    expect(plural(0, 'app')).toBe('0 apps');
    expect(plural(2, 'entry', 'entries')).toBe('2 entries');
  });
});

test('numbers have the separators of the locale, and keep English units', () => {
  const german = numberFormats('de-DE');
  expect(german.formatInteger(1_234_567)).toBe('1.234.567');
  expect(german.formatCount(12_345)).toBe('12,3k');
  expect(german.formatCount(0.004)).toBe('<0,01');
  expect(german.formatBytes(1_610_612_736)).toBe('1,5 GiB');
  expect(german.formatMs(1.5)).toBe('1,5 ms');
  expect(german.formatDuration(4290)).toBe('4,2 s');
  expect(german.formatPercent(0.1234)).toBe('12,3 %');
  expect(german.formatRatio(1.418)).toBe('1,42×');
  expect(german.formatFixed(0.5, 2)).toBe('0,50');
  expect(german.plural(1500, 'app')).toBe('1.500 apps');
  expect(numberFormats('en-IN').formatInteger(1_234_567)).toBe('12,34,567');
  expect(numberFormats('ar-EG').formatInteger(42)).toBe('42');
  expect(formatInteger(1_234_567)).toBe('1,234,567');
});

describe('times', () => {
  test.each([
    [0, '0 ms'],
    [840, '840 ms'],
    [4290, '4.2 s'],
    [59_999, '59.9 s'],
    [125_000, '2 m 05 s'],
    [3_780_000, '1 h 03 m'],
    [200_000_000, '2 d 7 h'],
  ])('duration %d reads %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  const now = Date.UTC(2026, 10, 20, 12);
  test.each([
    [0, 'just now'],
    [12_000, '12 s ago'],
    [61_000, '1 min ago'],
    [7_300_000, '2 h ago'],
    [86_400_000, '1 day ago'],
    [40 * 86_400_000, '1 mo ago'],
    [800 * 86_400_000, '2 y ago'],
    [-600_000, 'in 10 min'],
    // A week from now stays a week while its first day passes.
    [-(7 * 86_400_000 - 1000), 'in 7 days'],
    [-(3_600_000 - 1000), 'in 1 h'],
    [-(90 * 60_000), 'in 1 h'],
    [-(11 * 3_600_000 + 7 * 60_000), 'in 11 h'],
    [-(12 * 3_600_000 - 1000), 'in 12 h'],
    [-(49 * 3_600_000), 'in 3 days'],
  ])('%d ms before now reads %s', (ms, text) => expect(formatAgo(new Date(now - ms), now)).toBe(text));
});

test('commits and repositories are shortened', () => {
  expect(shortHash('0123456789abcdef')).toBe('0123456');
  expect(repositoryName('https://github.com/fairlead/hello.git')).toBe('fairlead/hello');
  expect(repositoryName('https://git.example.com/a/b/c/')).toBe('b/c');
  expect(repositoryName('http://127.0.0.1:4402/fairlead.git')).toBe('fairlead');
});
