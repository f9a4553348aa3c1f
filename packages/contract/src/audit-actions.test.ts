import { expect, test } from 'vitest';
import { auditActionLabel, auditActions } from './audit-actions.ts';

test('a name is <feature>.<action>, and two actions have no label in common', () => {
  for (const name of Object.keys(auditActions)) expect(name).toMatch(/^[a-z_]+\.[a-z_]+$/);
  const labels = Object.values(auditActions);
  expect(new Set(labels).size).toBe(labels.length);
});

test('an action that is recorded no longer keeps its name as label', () => {
  expect(auditActionLabel('app.create')).toBe('App created');
  expect(auditActionLabel('deployment.promote')).toBe('deployment.promote');
  expect(auditActionLabel('toString')).toBe('toString');
});
