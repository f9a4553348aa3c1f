import { expect, test } from 'vitest';
import { compareVersions, findObstacles, parseReadelf, requireOldGlibc } from './elf.ts';
import { TARGETS, type Target } from './targets.ts';

const [x64, arm64] = TARGETS as [Target, Target];
const none = new Set<string>();

const readelf = (glibc: string) => `ELF Header:
  Class:                             ELF64
  Machine:                           Advanced Micro Devices X86-64

Dynamic section at offset 0x1f30 contains 34 entries:
  Tag        Type                         Name/Value
 0x0000000000000001 (NEEDED)             Shared library: [libz.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]

Version definition section '.gnu.version_d' contains 1 entry:
  000000: Rev: 1  Flags: none  Index: 2  Cnt: 1  Name: GLIBC_9.99

Version needs section '.gnu.version_r' contains 2 entries:
  000000: Version: 1  File: libc.so.6  Cnt: 2
  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 6
  0x0020:   Name: GLIBC_${glibc}  Flags: none  Version: 5
  000000: Version: 1  File: libgcc_s.so.1  Cnt: 1
  0x0010:   Name: GCC_3.0  Flags: none  Version: 4
`;

test('the newest needed version of each set is found, and versions that a file defines are no need', () => {
  const needs = parseReadelf(readelf('2.28'));
  expect(needs.machine).toContain('X86-64');
  expect(needs.libraries).toEqual(['libz.so.1', 'libc.so.6']);
  expect(Object.fromEntries(needs.versions)).toEqual({ GLIBC: '2.28', GCC: '3.0' });
});

test('versions compare by number, not by text', () => {
  expect(compareVersions('2.9', '2.28')).toBeLessThan(0);
  expect(compareVersions('3.4.28', '3.4')).toBeGreaterThan(0);
  expect(compareVersions('2.31', '2.31')).toBe(0);
});

test('a newer glibc, another processor and a missing library are obstacles', () => {
  expect(findObstacles(parseReadelf(readelf('2.31')), x64, none)).toEqual([]);
  expect(findObstacles(parseReadelf(readelf('2.32')), x64, none)).toEqual(['needs GLIBC_2.32, newer than 2.31']);
  expect(findObstacles(parseReadelf(readelf('2.28')), arm64, none)).toEqual(['is for Advanced Micro Devices X86-64']);
  const needs = { ...parseReadelf(readelf('2.28')), libraries: ['libicuuc.so.60'] };
  expect(findObstacles(needs, x64, none)).toEqual(['needs libicuuc.so.60, which the release lacks']);
  expect(findObstacles(needs, x64, new Set(['libicuuc.so.60']))).toEqual([]);
});

test('a folder without programs is refused', async () => {
  await expect(requireOldGlibc(import.meta.filename, x64)).rejects.toThrow('holds no program');
});
