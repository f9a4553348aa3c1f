// Tests of variables by scope, Fairlead's own variables, a start command for a shell, and the default branch, on a real
// server.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { System } from './harness/system.ts';

let system: System;

beforeAll(async () => {
  system = await System.start();
});
afterAll(() => system?.stop());

const files = {
  'package.json': JSON.stringify({
    name: 'app',
    version: '1.0.0',
    private: true,
    type: 'module',
    scripts: { build: 'node build.js', start: 'node server.js' },
  }),
  'build.js': [
    "import { writeFileSync } from 'node:fs';",
    "writeFileSync('build.json', JSON.stringify(process.env));",
    '',
  ].join('\n'),
  'server.js': [
    "import { readFileSync } from 'node:fs';",
    "import { createServer } from 'node:http';",
    "const build = JSON.parse(readFileSync('build.json', 'utf8'));",
    'const body = JSON.stringify({ build, run: process.env, words: process.argv.slice(2) });',
    'const server = createServer((_, response) => response.end(body));',
    'server.listen(Number(process.argv[2]));',
    "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
    '',
  ].join('\n'),
};

interface ObservedVariables {
  readonly build: Readonly<Record<string, string>>;
  readonly run: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

test('a build and an instance have the variables of their scope and those that Fairlead sets', async () => {
  const repository = await system.repositories.create('scopes', files, 'master');
  const hash = await repository.commit('Second version', { 'README.md': 'x' });
  const appId = await system.createAppWith('scopes', repository, {
    variables: {
      BOTH: 'both $HOME "quoted"',
      VITE_API: { value: 'https://api.example.test/?a=b', scope: 'build' },
      DATABASE: { value: 'postgres://db', scope: 'run' },
    },
    startCommand: 'WORD=assigned exec node server.js $PORT "two words" "$DATABASE" && true',
  });
  const deployment = await system.deploy(appId);
  const log = await system.log(deployment.id);
  expect(deployment.state, log.join('\n')).toBe('live');
  expect(deployment).toMatchObject({ ref: 'master', commitHash: hash });
  expect(log.some((line) => line.includes("branch master (the repository's default)"))).toBe(true);

  const { build, run, words } = JSON.parse((await system.get('scopes')).body) as ObservedVariables;
  const told = {
    FAIRLEAD_APP: 'scopes',
    FAIRLEAD_ENVIRONMENT: 'Production',
    FAIRLEAD_DEPLOYMENT_ID: deployment.id,
    FAIRLEAD_GIT_COMMIT: hash,
    FAIRLEAD_GIT_BRANCH: 'master',
    FAIRLEAD_URL: (await system.app('scopes')).url,
  };
  expect(build).toMatchObject({ BOTH: 'both $HOME "quoted"', VITE_API: 'https://api.example.test/?a=b', ...told });
  expect(build).not.toHaveProperty('DATABASE');
  expect(run).toMatchObject({ BOTH: 'both $HOME "quoted"', DATABASE: 'postgres://db', WORD: 'assigned', ...told });
  expect(run).not.toHaveProperty('VITE_API');
  expect(words).toEqual([run.PORT, 'two words', 'postgres://db']);
});
