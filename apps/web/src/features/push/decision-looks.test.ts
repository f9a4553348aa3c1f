import { pushReasonSchema } from '@fairlead/core/push/schema';
import { expect, test } from 'vitest';
import { isOutcome, lookOfDecision, outcomes, type PushDecision, sentenceOf, shortRef } from './decision-looks.ts';

const decision = (changes: Partial<PushDecision>): PushDecision => ({
  appId: 'app_1' as PushDecision['appId'],
  appName: 'Shop',
  appSlug: 'shop',
  environmentId: 'env_1' as PushDecision['environmentId'],
  environmentName: 'Production',
  outcome: 'skipped',
  reason: 'matches',
  detail: 'main',
  deploymentId: null,
  deploymentNumber: null,
  deploymentState: null,
  awaitsBuild: false,
  awaitsApproval: false,
  pendingChecks: [],
  failureMessage: null,
  decidedAt: new Date(0),
  ...changes,
});

test('every reason has a sentence of its own', () => {
  const sentences = pushReasonSchema.options.map((reason) =>
    sentenceOf(decision({ reason, detail: 'Server drained.' })),
  );
  expect(new Set(sentences).size).toBe(sentences.length);
  for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z].*\.$/);
});

test('a decision with a deployment shows what became of it', () => {
  const deployed = { outcome: 'deployed', reason: 'matches' } as const;
  expect(lookOfDecision(decision(deployed)).label).toBe('Deployed');
  expect(lookOfDecision(decision({ ...deployed, deploymentState: 'failed' })).label).toBe('Failed');
  const waiting = decision({ ...deployed, deploymentState: 'queued', awaitsApproval: true });
  expect(lookOfDecision(waiting).label).toBe('Waiting for approval');
  expect(sentenceOf(waiting)).toContain('approval');
  expect(sentenceOf(decision({ ...deployed, deploymentState: 'superseded' }))).toContain('superseded');
  const taken = { ...deployed, deploymentState: 'building', awaitsBuild: true } as const;
  expect(lookOfDecision(decision(taken)).label).toBe('Queued');
  const checked = decision({ ...deployed, deploymentState: 'queued', pendingChecks: ['test', 'lint'] });
  expect(lookOfDecision(checked).label).toBe('Waiting for checks');
  expect(sentenceOf(checked)).toBe('The deployment waits for the checks test, lint at GitHub.');
  const failed = decision({ ...deployed, deploymentState: 'failed', failureMessage: 'The check lint failed.' });
  expect(sentenceOf(failed)).toBe('The deployment failed. The check lint failed.');
});

test('the filter knows the outcomes only, and a ref is shown without its folder', () => {
  expect(outcomes.every(({ value }) => isOutcome(value))).toBe(true);
  expect([isOutcome(''), isOutcome('constructor')]).toEqual([false, false]);
  expect(['refs/heads/feature/x', 'refs/tags/v1', 'HEAD', null].map(shortRef)).toEqual([
    'feature/x',
    'v1',
    'default',
    'default',
  ]);
});
