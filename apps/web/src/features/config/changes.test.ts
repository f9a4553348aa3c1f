import { settingsSchema } from '@fairlead/core/config/schema';
import { formatsOf } from '@fairlead/ui/formats';
import { expect, test } from 'vitest';
import { changeLines, effectText, notLiveLines } from './changes.ts';
import type { AppFields } from './draft.ts';

const formats = formatsOf({ locale: 'en-US', timeZone: 'UTC' });

const app: AppFields = {
  name: 'shop',
  repositoryUrl: '',
  branch: 'main',
  rootFolder: '',
  healthPath: '',
  command: [],
  instances: 1,
};
const saved = { app, settings: settingsSchema.parse({ variables: { OLD: 'a' } }) };

test('a change shows its field, both values and when it takes effect', () => {
  const settings = {
    ...saved.settings,
    startTimeoutMs: 90_000,
    startCommand: ['node', 'server.js'],
    livenessCheck: { kind: 'http' as const, path: '/up' },
    deploymentUrls: false,
  };
  expect(changeLines(saved, { app: { ...app, instances: 3 }, settings }, formats)).toEqual([
    { path: 'app.instances', label: 'Instances', before: '1', after: '3', effect: 'now' },
    { path: 'startCommand', label: 'Start command', before: 'Default', after: 'node server.js', effect: 'deployment' },
    { path: 'startTimeoutMs', label: 'Start timeout', before: '1 m 00 s', after: '1 m 30 s', effect: 'deployment' },
    {
      path: 'livenessCheck',
      label: 'Liveness check',
      before: 'Default',
      after: 'http, path /up',
      effect: 'deployment',
    },
    { path: 'deploymentUrls', label: 'Deployment URLs', before: 'On', after: 'Off', effect: 'now' },
  ]);
});

test('the parts of a setting are words, with their units', () => {
  const settings = settingsSchema.parse({
    autoscaling: { instancesMin: 0, instancesMax: 4 },
    rollout: { kind: 'rolling', batchSize: 2 },
  });
  expect(
    changeLines({ app, settings: settingsSchema.parse({}) }, { app, settings }, formats).map(({ after }) => after),
  ).toEqual([
    'instances min 0, instances max 4, idle timeout 5 m 00 s, in flight target 0, cpu target 0, wake timeout 30.0 s',
    'rolling, batch size 2',
  ]);
});

test('traffic and variables are compared one by one', () => {
  const settings = settingsSchema.parse({ variables: { NEW: 'b' }, traffic: { queueLengthMax: 5 } });
  expect(
    changeLines(saved, { app, settings }, formats).map(({ path, before, after }) => [path, before, after]),
  ).toEqual([
    ['variables.OLD', 'value a, scope both', 'None'],
    ['variables.NEW', 'None', 'value b, scope both'],
    ['traffic.queueLengthMax', '8192', '5'],
  ]);
});

test('what is not live is compared from the live to the saved value; without a live release nothing is', () => {
  const now = settingsSchema.parse({ stopTimeoutMs: 11_000, variables: { OLD: 'a' } });
  expect(notLiveLines(saved.settings, now, formats).map(({ path, before, after }) => [path, before, after])).toEqual([
    ['stopTimeoutMs', '10.0 s', '11.0 s'],
  ]);
  expect(notLiveLines(null, now, formats)).toEqual([]);
});

test('one sentence says when changes take effect', () => {
  expect(effectText(['now', 'now'])).toBe('Servers apply it now.');
  expect(effectText(['deployment'])).toBe('Takes effect with the next deployment.');
  expect(effectText(['now', 'deployment'])).toMatch(/^Some of it applies now/);
});
