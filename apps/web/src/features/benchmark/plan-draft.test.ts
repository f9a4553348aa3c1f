import { expect, test } from 'vitest';
import { choicesWith, draftOf, planOf } from './plan-draft.ts';

test('a draft keeps what the form does not show', () => {
  const plan = { ...planOf(draftOf()).plan, host: 'shop.example.test', warmupMs: 0, targets: ['proxy' as const] };
  expect(planOf({ ...draftOf(plan), path: '/health' }).plan).toEqual({ ...plan, path: '/health' });
});

test('a list that is none and a plan without protocols are incomplete', () => {
  expect(planOf(draftOf()).isComplete).toBe(true);
  expect(planOf({ ...draftOf(), concurrency: '1, many' }).isComplete).toBe(false);
  expect(planOf({ ...draftOf(), protocols: [] }).isComplete).toBe(false);
});

test('a choice offers the value of an uploaded plan', () => {
  expect(choicesWith([1, 2, 5], 2.5)).toEqual(['1', '2', '2.5', '5']);
  expect(choicesWith([1, 3], 3)).toEqual(['1', '3']);
});
