import { expect, test } from 'vitest';
import { mergeTexts } from './licences.ts';
import { type Component, composeSbom, describeLicence } from './sbom.ts';

test('the SBOM lists packages, crates and bundled parts once, with their digests', () => {
  const entry = { key: 'node_modules/@a/b', name: '@a/b', version: '1.0.0', licence: 'MIT', integrity: 'sha512-AQI=' };
  const sbom = composeSbom({
    version: '0.1.0',
    commit: 'c0ffee',
    npm: [entry, { ...entry, key: 'packages/x/node_modules/@a/b' }],
    crates: [{ name: 'serde', version: '1.0.0', licence: 'MIT/Apache-2.0', checksum: 'ab12' }],
    bundled: [{ name: 'icu', version: '60.2', licence: 'ICU' }],
  }) as { bomFormat: string; components: Component[] };
  expect(sbom.bomFormat).toBe('CycloneDX');
  expect(sbom.components.map(({ purl }) => purl)).toEqual([
    'pkg:cargo/serde@1.0.0',
    'pkg:generic/icu@60.2',
    'pkg:npm/%40a/b@1.0.0',
  ]);
  expect(sbom.components[2]?.hashes).toEqual([{ alg: 'SHA-512', content: '0102' }]);
  expect(sbom.components[0]?.licenses).toEqual([{ expression: 'MIT OR Apache-2.0' }]);
});

test('a licence that is no SPDX expression keeps its own name', () => {
  expect(describeLicence('(Apache-2.0 AND BSD-3-Clause)')).toEqual({ expression: '(Apache-2.0 AND BSD-3-Clause)' });
  expect(describeLicence('Apache-2.0 WITH LLVM-exception')).toEqual({ expression: 'Apache-2.0 WITH LLVM-exception' });
  expect(describeLicence('SIL OPEN FONT LICENSE')).toEqual({ license: { name: 'SIL OPEN FONT LICENSE' } });
  expect(describeLicence('UNKNOWN')).toEqual({ license: { name: 'UNKNOWN' } });
});

test('a licence text stands once below all parts that have it', () => {
  const merged = mergeTexts([
    { part: 'one', text: 'Permission is granted.\r\n' },
    { part: 'two', text: 'Permission is granted.\n' },
    { part: 'three', text: '' },
  ]);
  expect(merged.match(/Permission/g)).toHaveLength(1);
  expect(merged).toMatch(/one\ntwo\n\nPermission/);
  expect(merged).toContain('three\n\nNo text in the package.');
});
