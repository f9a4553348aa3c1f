// Small apps to deploy, each good or bad in one way.
import type { Files } from './repository.ts';

const manifest = (scripts: Readonly<Record<string, string>>) =>
  JSON.stringify({ name: 'app', version: '1.0.0', private: true, type: 'module', scripts });

/** Answers every request with `text`. */
export function answering(text: string): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': [
      "import { createServer } from 'node:http';",
      `const server = createServer((request, response) => response.end(${JSON.stringify(text)}));`,
      'server.keepAliveTimeout = 75_000;',
      'server.listen(Number(process.env.PORT));',
      "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
      '',
    ].join('\n'),
  };
}

/** Answers with `text` and what it was given as the variable API_TOKEN and the file SIGNING_KEY. */
export function answeringSecrets(text: string): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': [
      "import { readFileSync } from 'node:fs';",
      "import { createServer } from 'node:http';",
      "const file = process.env.FAIRLEAD_SECRETS === undefined ? '' : readFileSync(process.env.FAIRLEAD_SECRETS + '/SIGNING_KEY', 'utf8');",
      `const body = [${JSON.stringify(text)}, process.env.API_TOKEN, file].join(' ');`,
      'const server = createServer((request, response) => response.end(body));',
      'server.keepAliveTimeout = 75_000;',
      'server.listen(Number(process.env.PORT));',
      "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
      '',
    ].join('\n'),
  };
}

/** Its build says `line` and fails. */
export function failingBuild(line: string): Files {
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'build.js': `console.error(${JSON.stringify(line)});\nprocess.exit(3);\n`,
  };
}

/** Its build says `line` and then takes ten minutes. */
export function endlessBuild(line: string): Files {
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'build.js': `console.log(${JSON.stringify(line)});\nsetTimeout(() => undefined, 600_000);\n`,
  };
}

export const NEVER_LISTENING: Files = {
  'package.json': manifest({ start: 'node server.js' }),
  'server.js': "console.log('thinking about it');\nsetInterval(() => undefined, 60_000);\n",
};

export function listeningOn(port: number): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': `import { createServer } from 'node:http';\ncreateServer((request, response) => response.end()).listen(${port});\n`,
  };
}

export function crashing(line: string): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': `console.error(${JSON.stringify(line)});\nprocess.exit(1);\n`,
  };
}
