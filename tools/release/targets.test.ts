import { expect, test } from 'vitest';
import { formatChecksums } from './sign.ts';
import { nameOf, selectParts } from './targets.ts';

test('all parts are built in an order in which each finds those it packs', () => {
  expect(selectParts(undefined).map(nameOf)).toEqual([
    'agent-x64',
    'agent-arm64',
    'sbom',
    'control-plane-x64',
    'control-plane-arm64',
  ]);
});

test('parts are selected by name, a control plane with its SBOM, and an unknown one is refused', () => {
  expect(selectParts('agent-arm64').map(nameOf)).toEqual(['agent-arm64']);
  expect(selectParts('control-plane-x64, agent-x64').map(nameOf)).toEqual(['agent-x64', 'sbom', 'control-plane-x64']);
  expect(() => selectParts('agent-riscv')).toThrow('choose from agent-x64');
});

test('checksums have the format of sha256sum', () => {
  expect(formatChecksums([['a.tar.gz', 'ab12']])).toBe('ab12  a.tar.gz\n');
});
