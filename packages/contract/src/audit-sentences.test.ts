import { expect, test } from 'vitest';
import { auditSentence, auditSentences } from './audit-sentences.ts';

const textOf = (action: string, fields: Record<string, string> = {}) =>
  auditSentence(action, 'shop #12', (field) => fields[field] ?? null)
    .map(({ text }) => text)
    .join('');

test('a sentence names the target, and the fields that the event has', () => {
  expect(textOf('deployment.create', { environmentId: 'Production' })).toBe('deployed shop #12 to Production');
  expect(textOf('deployment.create')).toBe('deployed shop #12');
  expect(textOf('deployment.rollback', { releaseId: 'release 3', environmentId: 'Staging' })).toBe(
    'rolled back to release 3 with shop #12 in Staging',
  );
  expect(auditSentence('app.create', 'shop', () => null)).toEqual([
    { text: 'created the app ', isName: false },
    { text: 'shop', isName: true },
  ]);
});

test('a name with braces or brackets stays as it is', () => {
  const parts = auditSentence('deployment.create', '{environmentId} [x]', () => 'Production');
  expect(parts.map(({ text }) => text)).toEqual(['deployed ', '{environmentId} [x]', ' to ', 'Production']);
});

test('an action that this version no longer records keeps its name', () => {
  expect(textOf('thing.vanish')).toBe('thing.vanish shop #12');
  expect(textOf('toString')).toBe('toString shop #12');
});

test('every sentence is well-formed', () => {
  for (const [action, template] of Object.entries(auditSentences)) {
    const plain = template.replace(/\[[^[\]]*\{\w+\}[^[\]]*\]/g, '');
    expect(plain.replaceAll('{target}', ''), action).not.toMatch(/[[\]{}]/);
    expect(plain, action).toMatch(/^[a-z]/);
  }
});
