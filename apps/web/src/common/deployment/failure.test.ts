import { errorCodes } from '@fairlead/contract/errors';
import { expect, test } from 'vitest';
import { pathsOf } from '../organization/paths.ts';
import { failureText, nextStepOf, pageOfStep, remainsText, stepLabel } from './failure.ts';

const place = { appSlug: 'shop', environmentId: 'env_1', serverId: 'srv_1' };

test('every failure of an agent has a next step with a label', () => {
  for (const code of errorCodes.filter((each) => /^(build|rollout)\./.test(each))) {
    expect(stepLabel[nextStepOf(code)], code).toMatch(/^[A-Z]/);
  }
});

test('a failure leads to the page where it can be fixed', () => {
  const paths = pathsOf('acme');
  expect(nextStepOf('build.network_failed')).toBe('again');
  expect(nextStepOf('build.code_invalid')).toBe('log');
  expect(nextStepOf('build.variable_missing')).toBe('variables');
  expect(pageOfStep('variables', paths, place)).toBe('/acme/apps/shop/variables?environment=env_1');
  expect(pageOfStep('build', paths, place)).toBe('/acme/apps/shop/settings/source?environment=env_1#builder');
  expect(pageOfStep('server', paths, place)).toBe('/acme/servers/srv_1');
  expect(pageOfStep('server', paths, { ...place, serverId: null })).toBeNull();
});

test('an unknown failure leads to the log', () => {
  for (const code of [null, 'build.from_the_future', 'toString']) expect(nextStepOf(code)).toBe('log');
});

test.each([
  ['build.code_invalid', 'It failed.', true, 'It failed. Live traffic is unaffected.'],
  ['build.code_invalid', 'It failed.', false, 'It failed. No release was live before.'],
  ['build.code_invalid', null, true, 'See its log. Live traffic is unaffected.'],
  [null, 'It failed.', true, 'It failed. Live traffic is unaffected.'],
  [
    'build.command_failed',
    'It failed. The last lines of the log say why.',
    false,
    'It failed. No release was live before.',
  ],
  // Visitors got the failed responses of a canary, and the agent says about its commands that traffic is unaffected.
  ['rollout.canary_failed', 'The old release has all requests again.', true, 'The old release has all requests again.'],
  [
    'rollout.command_failed',
    'Live traffic is unaffected. See its log.',
    true,
    'Live traffic is unaffected. See its log.',
  ],
  [
    'rollout.command_failed',
    'Live traffic is unaffected. See its log.',
    false,
    'No release was live before. See its log.',
  ],
])('a failure says once what serves now: %s, %s, %s', (failureCode, failureMessage, hadLiveRelease, text) => {
  expect(failureText({ failureCode, failureMessage, hadLiveRelease })).toBe(text);
});

test('a cancelled first deployment leaves nothing live', () => {
  expect(remainsText({ hadLiveRelease: true })).toBe('The previous release stays live.');
  expect(remainsText({ hadLiveRelease: false })).toBe('No release was live before.');
});
