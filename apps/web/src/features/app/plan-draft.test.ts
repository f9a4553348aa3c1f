// Tests of edited plans: only the fields that differ are sent.
import { expect, test } from 'vitest';
import { type BuildPlan, detectedOf, emptyDraft, overridesOf, secretsOf, settableOf, titleOf } from './plan-draft.ts';

const plan: BuildPlan = {
  builder: 'native',
  dockerfile: '',
  framework: '',
  runtime: 'node',
  tools: [],
  installCommands: ['npm ci', 'npm rebuild'],
  buildCommands: [],
  startCommand: 'node server.js',
  outputFolders: [],
  workers: [],
  releaseCommand: '',
  healthPath: '',
  listensOnSocket: false,
  expectedVariables: ['PORT', 'DATABASE_URL', 'API_KEY'],
  sentences: [],
};

test('an unedited plan overrides nothing', () => {
  expect(overridesOf(emptyDraft)).toEqual({});
  expect(secretsOf(emptyDraft, plan)).toEqual([]);
});

test('edited lines become commands, and values of expected variables become secrets', () => {
  const draft = { ...emptyDraft, build: ' npm run build && true ', output: ' dist ' };
  expect(overridesOf(draft)).toEqual({ buildCommand: ['sh', '-c', 'npm run build && true'], outputFolder: 'dist' });
  const variables = { API_KEY: 'k', OTHER: 'of a former repository' };
  expect(secretsOf({ ...emptyDraft, variables }, plan)).toEqual([{ name: 'API_KEY', value: 'k', atBuild: true }]);
  expect(secretsOf({ ...emptyDraft, variables }, null)).toEqual([]);
  expect(settableOf(plan)).toEqual(['DATABASE_URL', 'API_KEY']);
});

test('placeholders show what is detected', () => {
  expect(detectedOf(plan)).toEqual({
    install: 'npm ci && npm rebuild',
    build: '',
    start: 'node server.js',
    output: '',
  });
  expect(titleOf(plan)).toBe('node');
  expect(titleOf({ ...plan, framework: 'Next.js' })).toBe('Next.js');
  expect(titleOf({ ...plan, builder: 'dockerfile' })).toBe('Dockerfile');
});
