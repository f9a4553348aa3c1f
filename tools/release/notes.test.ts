import { expect, test } from 'vitest';
import { changesOf } from './notes.ts';

const changelog = `# Changelog

## [Unreleased]

### Added

- A button.

## [1.0.0] - 2026-01-01

### Fixed

- A fault.
`;

test('the notes of a release are its section, and before the release the unreleased one', () => {
  expect(changesOf(changelog, '1.0.0')).toBe('### Fixed\n\n- A fault.');
  expect(changesOf(changelog, '1.1.0')).toBe('### Added\n\n- A button.');
  expect(changesOf('# Changelog\n', '1.1.0')).toBe('');
});
