import { errorCodes } from '@fairlead/contract/errors';
import type { LogViewLine } from '@fairlead/ui/lib/log-rows';
import { expect, test } from 'vitest';
import { pathsOf } from '../../common/organization/paths.ts';
import { failingLine, failureText, nextStepOf, pageOfStep, stepLabel } from './next-step.ts';

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
  expect(pageOfStep('variables', paths, place)).toBe('/acme/apps/shop/config?environment=env_1#variables');
  expect(pageOfStep('server', paths, place)).toBe('/acme/servers/srv_1');
  expect(pageOfStep('server', paths, { ...place, serverId: null })).toBeNull();
});

test('an unknown failure leads to the log', () => {
  for (const code of [null, 'build.from_the_future', 'toString']) expect(nextStepOf(code)).toBe('log');
});

test.each([
  ['build.code_invalid', 'It failed.', 'It failed. Live traffic is unaffected.'],
  ['build.code_invalid', null, 'See its log. Live traffic is unaffected.'],
  [null, 'It failed.', 'It failed. Live traffic is unaffected.'],
  // Visitors got the failed responses of a canary, and the agent says about its commands that traffic is unaffected.
  ['rollout.canary_failed', 'The old release has all requests again.', 'The old release has all requests again.'],
  ['rollout.command_failed', 'Live traffic is unaffected.', 'Live traffic is unaffected.'],
])('the text of a failure mentions live traffic once: %s', (failureCode, failureMessage, text) => {
  expect(failureText({ failureCode, failureMessage })).toBe(text);
});

const line = (text: string, tone: LogViewLine['tone'] = 'plain'): LogViewLine => ({ text, tone, group: 'build' });

test('the failing line is the one that the sentence quotes', () => {
  const message = "The command `npm ci` failed with exit code 1: `error: run 'x'`. Run `y`, then deploy again.";
  const lines = [
    line('$ npm ci', 'system'),
    line('\u001b[31merror\u001b[0m: run `x`'),
    line('bye'),
    line(message, 'system'),
  ];
  expect(failingLine(lines, message)).toBe(1);
  expect(failingLine([line('a'), line(message, 'system'), line('z')], message)).toBe(1);
  expect(failingLine([line('a'), line('z')], null)).toBe(1);
  expect(failingLine([], message)).toBeNull();
});

test('a quotation that was cut is found by its beginning', () => {
  expect(failingLine([line('a'), line('abcdef and on'), line('z')], 'It failed: `abcdef…`.')).toBe(1);
});
