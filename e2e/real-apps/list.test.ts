import { expect, test } from 'vitest';
import { REAL_APPS } from './list.ts';
import { nameOf } from './real-app.ts';
import { APPS_MIN } from './verdict.ts';

test('the list has enough apps, each once and at a fixed commit', () => {
  const living = REAL_APPS.filter((app) => !('fails' in app));
  expect(new Set(living.map(({ repository }) => repository)).size).toBeGreaterThanOrEqual(APPS_MIN);
  expect(new Set(REAL_APPS.map(nameOf)).size).toBe(REAL_APPS.length);
  for (const { repository, commit } of REAL_APPS) {
    expect(repository).toMatch(/^[\w.-]+\/[\w.-]+$/);
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
  }
});
