// The check must fail when the control plane loses or doubles a push.
import { expect, test } from 'vitest';
import { countPushes, isClean, type PushOutcomes } from './push-count.ts';
import { type PushPlan, planPushes } from './push-plan.ts';

const plan = planPushes({ pushes: 40, repositories: 1, seed: 3 });

/** Rows of a control plane that deploys every eligible push, one after another. */
function faultless({ pushes }: PushPlan): PushOutcomes {
  const deployments = pushes
    .filter(({ isSkipped }) => !isSkipped)
    .map(({ guid, after }) => ({ id: `dep ${guid}`, appId: 'app', ref: after, state: 'live' }));
  return {
    decisions: pushes.map(({ guid, after, isSkipped }) => ({
      after,
      outcome: isSkipped ? 'skipped' : 'deployed',
      deploymentId: isSkipped ? null : `dep ${guid}`,
    })),
    deployments,
    checkRuns: deployments.map(({ id }) => id),
    apps: new Map([[1, 'app']]),
  };
}

const right = faultless(plan);

test('pushes that were each decided once, the last of them live, are clean', () => {
  const report = countPushes(plan, right);
  expect(report).toMatchObject({ lost: 0, doubled: 0, superseded: 0 });
  expect(report.duplicates).toBeGreaterThan(0);
  expect(isClean(report)).toBe(true);
});

test.each<[string, Partial<PushOutcomes>, Partial<ReturnType<typeof countPushes>>]>([
  ['a push without a decision', { decisions: right.decisions.slice(1) }, { lost: 1 }],
  ['a last push without a deployment', { deployments: right.deployments.slice(0, -1) }, { lost: 1 }],
  [
    'a last push that is not live',
    {
      deployments: right.deployments.map((each, index, all) =>
        index < all.length - 1 ? each : { ...each, state: 'queued' },
      ),
    },
    { lost: 1 },
  ],
  ['an older push deployed after the last', { deployments: right.deployments.toReversed() }, { lost: 1 }],
  [
    'a push that was deployed twice',
    { deployments: [...right.deployments, ...right.deployments.slice(-1)] },
    { doubled: 1 },
  ],
  ['a push that was decided twice', { decisions: [...right.decisions, ...right.decisions.slice(-1)] }, { doubled: 1 }],
  ['two check runs of a deployment', { checkRuns: [...right.checkRuns, right.checkRuns[0] ?? ''] }, { doubled: 1 }],
])('%s fails the check', (_, change, counted) => {
  const report = countPushes(plan, { ...right, ...change });
  expect(report).toMatchObject(counted);
  expect(isClean(report)).toBe(false);
});

test('a push whose deployment failed to start fails the check', () => {
  const decisions = right.decisions.map((each, index) => (index === 0 ? { ...each, outcome: 'failed' } : each));
  expect(isClean(countPushes(plan, { ...right, decisions }))).toBe(false);
});
