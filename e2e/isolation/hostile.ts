// Source of the check's apps and builds: one that runs any attack and reports it, its victims, and builds of both
// kinds.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Files } from '../system/harness/repository.ts';

export const PYTHON = '/usr/bin/python3';
export const ATTACK_PROGRAM = join(import.meta.dirname, 'attack.py');
/** Prefix of report lines in a build's log. */
export const REPORT = 'attack-report ';

const manifest = (scripts: Readonly<Record<string, string>>) =>
  JSON.stringify({ name: 'app', version: '1.0.0', private: true, type: 'module', scripts });
const attackProgram = () => readFileSync(ATTACK_PROGRAM, 'utf8');

/** App that runs the attack in the request path (base64url of JSON) and responds with attack.py's output. */
export function hostileApp(): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'attack.py': attackProgram(),
    'server.js': [
      "import { execFile } from 'node:child_process';",
      "import { createServer } from 'node:http';",
      'const server = createServer((request, response) => {',
      "  const asked = request.url.split('?attack=')[1];",
      "  if (asked === undefined) return response.end('ready');",
      "  const given = Buffer.from(asked, 'base64url').toString();",
      `  execFile(${JSON.stringify(PYTHON)}, ['attack.py', given], { timeout: 15_000 }, (error, stdout, stderr) =>`,
      '    response.end(JSON.stringify({ stdout, failure: error === null ? "" : String(error) + stderr })));',
      '});',
      'server.listen(Number(process.env.PORT), process.env.HOST);',
      '',
    ].join('\n'),
  };
}

const inContainer = (command: string, files: Files): Files => ({
  Dockerfile: `FROM node:24-slim\nWORKDIR /app\nCOPY . .\n${command}\n`,
  'attack.mjs': readFileSync(join(import.meta.dirname, 'attack.mjs'), 'utf8'),
  ...files,
});

/** Hostile app as an image. */
export function hostileContainer(): Files {
  return inContainer('CMD ["node", "server.mjs"]', {
    'server.mjs': [
      "import { execFile } from 'node:child_process';",
      "import { createServer } from 'node:http';",
      'createServer((request, response) => {',
      "  const asked = request.url.split('?attack=')[1];",
      "  if (asked === undefined) return response.end('ready');",
      "  const given = Buffer.from(asked, 'base64url').toString();",
      "  execFile('node', ['attack.mjs', given], { timeout: 25_000 }, (error, stdout, stderr) =>",
      '    response.end(JSON.stringify({ stdout, failure: error === null ? "" : String(error) + stderr })));',
      '}).listen(Number(process.env.PORT));',
      '',
    ].join('\n'),
  });
}

/** Dockerfile with a RUN step that makes these attempts and reports each as a line of the build's log. */
export function attackingDockerfile(attempts: readonly unknown[]): Files {
  return inContainer('RUN ["node", "build.mjs"]\nCMD ["node", "-e", "setInterval(() => 0, 1000)"]', {
    'attempts.json': JSON.stringify(attempts),
    'build.mjs': [
      "import { execFileSync } from 'node:child_process';",
      "const printed = execFileSync('node', ['attack.mjs', 'attempts.json'], { encoding: 'utf8' });",
      `for (const line of printed.trim().split('\\n')) console.log(${JSON.stringify(REPORT)} + line);`,
      '',
    ].join('\n'),
  });
}

export interface VictimOptions {
  readonly token: string;
  /** `host`: on the address in HOST; `wide`: on all addresses; `socket`: on its Unix socket; `late`: after SIGUSR2. */
  readonly listens: 'host' | 'wide' | 'socket' | 'late';
}

/** App that answers each request with its token and its X-Forwarded-For header. */
export function victim({ token, listens }: VictimOptions): Files {
  const listen = {
    host: 'server.listen({ port: Number(process.env.PORT), host: process.env.HOST, reusePort: process.env.HOST !== undefined });',
    wide: "server.listen({ port: Number(process.env.PORT), host: '::' });",
    socket: 'server.listen(process.env.FAIRLEAD_SOCKET);',
    late: "process.once('SIGUSR2', () => server.listen({ port: Number(process.env.PORT), host: process.env.HOST }));\nsetInterval(() => undefined, 60_000);",
  }[listens];
  return {
    'package.json': manifest({ start: 'node server.js' }),
    ...(listens === 'socket' ? { 'fairlead.toml': '[run]\nhealth_path = "/"\nlisten = "socket"\n' } : {}),
    'server.js': [
      "import { createServer } from 'node:http';",
      'const server = createServer((request, response) =>',
      `  response.end(JSON.stringify({ token: ${JSON.stringify(token)}, forwardedFor: request.headers['x-forwarded-for'] })));`,
      listen,
      '',
    ].join('\n'),
  };
}

/** App with a build that makes these attempts and reports each as a line of its log. */
export function attackingBuild(attempts: readonly unknown[]): Files {
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'attack.py': attackProgram(),
    'attempts.json': JSON.stringify(attempts),
    'build.js': [
      "import { execFileSync } from 'node:child_process';",
      `const printed = execFileSync(${JSON.stringify(PYTHON)}, ['attack.py', 'attempts.json'], { encoding: 'utf8' });`,
      `for (const line of printed.trim().split('\\n')) console.log(${JSON.stringify(REPORT)} + line);`,
      '',
    ].join('\n'),
    'server.js':
      "import { createServer } from 'node:http';\ncreateServer((request, response) => response.end('built')).listen(Number(process.env.PORT), process.env.HOST);\n",
  };
}

/**
 * App with a build that listens on all addresses, as does a process that it leaves behind. It logs that and runs until
 * it is cancelled.
 */
export function listeningBuild(ports: { readonly own: number; readonly leftover: number }, token: string): Files {
  return {
    'package.json': manifest({ build: `node build.js ${ports.own}`, start: 'node build.js' }),
    'build.js': [
      "import { spawn } from 'node:child_process';",
      "import { createServer } from 'node:http';",
      `if (process.argv[2] === '${ports.own}')`,
      `  spawn(process.execPath, ['build.js', '${ports.leftover}'], { detached: true, stdio: 'ignore' }).unref();`,
      `const server = createServer((request, response) => response.end(${JSON.stringify(token)}));`,
      `server.listen({ port: Number(process.argv[2]), host: '::' }, () => console.log(${JSON.stringify(REPORT)} + 'listening'));`,
      '',
    ].join('\n'),
  };
}
