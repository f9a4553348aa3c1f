import { expect, test } from 'vitest';
import type { FailingApp, LivingApp } from './real-app.ts';
import { type Ending, lastLine, type Outcome, outcomeOf, shortfalls, summarize } from './verdict.ts';

const living: LivingApp = { repository: 'a/b', commit: 'c', first: { path: '/' }, second: [{ path: '/x' }] };
const failing: FailingApp = { repository: 'a/b', commit: 'c', fails: { code: 'build.not_detected', quotes: 'Ruby' } };
const live: Ending = { state: 'live', failureCode: null, failureMessage: null, problems: [], refusals: [] };
const failed: Ending = {
  ...live,
  state: 'failed',
  failureCode: 'build.not_detected',
  failureMessage: 'Ruby needs a Dockerfile.',
};
const refusals = [{ host: 'github.com', line: 'Could not resolve host: github.com' }];
const replaced = [
  {
    host: 'github.com',
    line: "Wanted Python 3.13 of .python-version; github.com can't be reached, so this server's Python 3.11.2 runs it.",
  },
];

test.each<[string, Outcome, LivingApp | FailingApp, Ending]>([
  ['lives', 'live', living, live],
  ['lives with a setting', 'live with a setting', { ...living, settings: { outputFolder: 'dist' } }, live],
  ['is live but answers wrongly', 'wrong advice', living, { ...live, problems: ['GET / answered 500.'] }],
  ['fails', 'wrong advice', living, failed],
  ['fails after a refused connection', "environment's fault", living, { ...failed, refusals }],
  ['fails with another version of a runtime', 'wrong advice', living, { ...failed, refusals: replaced }],
  [
    'fails for another version of a runtime',
    "environment's fault",
    living,
    { ...failed, failureCode: 'build.version_unsupported', refusals: replaced },
  ],
  ['must fail and does', 'failed as listed', failing, failed],
  ['must fail and does after a refused connection', 'failed as listed', failing, { ...failed, refusals }],
  ['must fail with another code', 'wrong advice', failing, { ...failed, failureCode: 'build.command_failed' }],
  ['must fail with another sentence', 'wrong advice', failing, { ...failed, failureMessage: 'It failed.' }],
  ['must fail otherwise', "environment's fault", failing, { ...failed, failureMessage: 'It failed.', refusals }],
  ['must fail and lives', 'wrong advice', failing, live],
])('an app that %s counts as %s', (_, outcome, app, ending) => {
  expect(outcomeOf(app, ending)).toBe(outcome);
});

const results = (counts: Partial<Record<Outcome, number>>) =>
  Object.entries(counts).flatMap(([outcome, count]) =>
    Array.from({ length: count }, () => ({ outcome: outcome as Outcome })),
  );

test('expected failures do not count as apps', () => {
  const sum = summarize(results({ live: 2, 'failed as listed': 3, 'wrong advice': 1 }));
  expect(lastLine(sum)).toBe(
    "apps 3, live at first try 2, live with one setting 0, environment's fault 0, wrong advice 1",
  );
});

test.each<[string, Partial<Record<Outcome, number>>, number]>([
  ['60 apps that live', { live: 60 }, 0],
  ['57 of 60 at the first try', { live: 57, 'live with a setting': 3 }, 0],
  ['56 of 60 at the first try', { live: 56, 'live with a setting': 4 }, 1],
  ['45 beside the fault of the environment', { live: 45, "environment's fault": 15 }, 0],
  ['44 beside the fault of the environment', { live: 44, "environment's fault": 16 }, 1],
  ['59 apps', { live: 59 }, 1],
  ['one wrong advice', { live: 70, 'wrong advice': 1 }, 1],
])('%s: bounds that are missed', (_, counts, missed) => {
  expect(shortfalls(summarize(results(counts)))).toHaveLength(missed);
});
