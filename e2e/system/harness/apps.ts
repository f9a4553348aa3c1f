// Small apps for tests, each good or bad in one way.
import { type Gates, PASS } from './gates.ts';
import type { Files } from './repository.ts';

const manifest = (scripts: Readonly<Record<string, string>>) =>
  JSON.stringify({ name: 'app', version: '1.0.0', private: true, type: 'module', scripts });

/** App that answers every request with `text`. */
export function respondingApp(text: string): Files {
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

/** App that counts its requests by method, path, the header X-Kind and bytes of the body; `/counts` answers with the counts. */
export const COUNTING_APP: Files = {
  'package.json': manifest({ start: 'node server.js' }),
  'server.js': [
    "import { createServer } from 'node:http';",
    'const counts = {};',
    'const server = createServer(async (request, response) => {',
    "  if (request.url === '/counts') return response.end(JSON.stringify(counts));",
    '  let bytes = 0;',
    '  for await (const chunk of request) bytes += chunk.length;',
    "  const key = [request.method, request.url, request.headers['x-kind'] ?? '', bytes].join(' ');",
    '  counts[key] = (counts[key] ?? 0) + 1;',
    "  response.end('counted');",
    '});',
    'server.keepAliveTimeout = 75_000;',
    'server.listen(Number(process.env.PORT));',
    "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
    '',
  ].join('\n'),
};

/**
 * App whose instances each count their requests, without health checks. `/seen` answers with the counts of one instance; it
 * counts nothing. At its end, an instance writes them to a file in its home that ends in `.seen`.
 */
export const INSTANCE_COUNTING_APP: Files = {
  'package.json': manifest({ start: 'node server.js' }),
  'server.js': [
    "import { writeFileSync } from 'node:fs';",
    "import { createServer } from 'node:http';",
    'const { API_TOKEN, FAIRLEAD_BENCHMARK_COPY, FAIRLEAD_INSTANCE_ID, HOME, PORT } = process.env;',
    'const [paths, hosts] = [new Set(), new Set()];',
    'let requests = 0;',
    "const seen = () => JSON.stringify({ isCopy: FAIRLEAD_BENCHMARK_COPY === '1', token: API_TOKEN, requests, paths: [...paths], hosts: [...hosts] });",
    'const server = createServer((request, response) => {',
    "  if (request.url === '/seen') return response.end(seen());",
    "  if (request.headers['user-agent'] === 'fairlead-health') return response.end();",
    '  requests += 1;',
    '  paths.add(request.url);',
    '  hosts.add(request.headers.host);',
    "  response.end('counted');",
    '});',
    'server.keepAliveTimeout = 75_000;',
    'server.listen(Number(PORT));',
    "process.once('SIGTERM', () => {",
    "  writeFileSync(HOME + '/' + FAIRLEAD_INSTANCE_ID + '.seen', seen());",
    '  process.exit(0);',
    '});',
    '',
  ].join('\n'),
};

/**
 * App that answers with `inside`, the header X-User and any path beyond `/`. Its `/verify` is for forward auth: 200 with
 * the name in the cookie `user` as X-User, or 401 without that cookie.
 */
export const FORWARD_AUTH_APP: Files = {
  'package.json': manifest({ start: 'node server.js' }),
  'server.js': [
    "import { createServer } from 'node:http';",
    'const server = createServer((request, response) => {',
    "  if (request.url === '/verify') {",
    "    const user = /(?:^|; )user=(\\w+)/.exec(request.headers.cookie ?? '')?.[1];",
    "    return user === undefined ? response.writeHead(401).end('sign in first') : response.writeHead(200, { 'x-user': user }).end();",
    '  }',
    "  const path = request.url === '/' ? undefined : request.url;",
    "  response.end(['inside', request.headers['x-user'], path].filter(Boolean).join(' '));",
    '});',
    'server.keepAliveTimeout = 75_000;',
    'server.listen(Number(process.env.PORT));',
    "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
    '',
  ].join('\n'),
};

/**
 * App that answers with its process's id and the client's address from the proxy; it holds `/held` until its next
 * request.
 */
export const PROCESS_ID_APP: Files = {
  'package.json': manifest({ start: 'node server.js' }),
  'server.js': [
    "import { createServer } from 'node:http';",
    'const held = [];',
    'const server = createServer((request, response) => {',
    "  const answer = () => response.end(process.pid + ' ' + request.headers['x-forwarded-for'] + ' ' + request.url);",
    "  if (request.url === '/held') held.push(answer);",
    '  else answer();',
    "  if (request.url === '/free') for (const each of held.splice(0)) each();",
    '});',
    'server.keepAliveTimeout = 75_000;',
    'server.listen(Number(process.env.PORT));',
    "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
    '',
  ].join('\n'),
};
/** App that answers with `text` on the Unix socket that its fairlead.toml asks for. */
export function socketApp(text: string): Files {
  const { 'server.js': server = '', ...files } = respondingApp(text);
  return {
    ...files,
    'fairlead.toml': '[run]\nhealth_path = "/"\nlisten = "socket"\n',
    'server.js': server.replace('Number(process.env.PORT)', 'process.env.FAIRLEAD_SOCKET'),
  };
}

/** App that answers with `text`, the variable API_TOKEN and the file SIGNING_KEY. */
export function secretsApp(text: string): Files {
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

/** App with a build that prints `line` and fails. */
export function failingBuild(line: string): Files {
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'build.js': `console.error(${JSON.stringify(line)});\nprocess.exit(3);\n`,
  };
}

/** App with a build that prints `line` and then takes ten minutes. */
export function endlessBuild(line: string): Files {
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'build.js': `console.log(${JSON.stringify(line)});\nsetTimeout(() => undefined, 600_000);\n`,
  };
}

export const NEVER_LISTENING_APP: Files = {
  'package.json': manifest({ start: 'node server.js' }),
  'server.js': "console.log('thinking about it');\nsetInterval(() => undefined, 60_000);\n",
};

export function listeningOn(port: number): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': `import { createServer } from 'node:http';\ncreateServer((request, response) => response.end()).listen(${port});\n`,
  };
}

export function crashingApp(line: string): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': `console.error(${JSON.stringify(line)});\nprocess.exit(1);\n`,
  };
}

/** App that exits at once, as a finished job does. */
export const EXITING_APP: Files = {
  'package.json': manifest({ start: 'node job.js' }),
  'job.js': `console.log('done');\n`,
};

/**
 * Server for load tests: answers at once, answers `/slow` late, echoes on WebSockets, and closes connections
 * gracefully.
 */
const LOADED_SERVER = `
const server = createServer((request, response) => {
  if (request.url === '/slow') setTimeout(() => response.end(text), 300);
  else response.end(text);
});
server.keepAliveTimeout = 75_000;
const sockets = new Set();
server.on('upgrade', (request, socket) => {
  const proof = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = createHash('sha1').update(proof).digest('base64');
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  socket.write([...head, 'Sec-WebSocket-Accept: ' + accept, '', ''].join('\\r\\n'));
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
  socket.on('error', () => socket.destroy());
  let unread = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    // Parses only what the load sends: one masked frame of up to 125 bytes each.
    while (unread.length >= 6 && unread.length >= 6 + (unread[1] & 127)) {
      const length = unread[1] & 127;
      const mask = unread.subarray(2, 6);
      const payload = Buffer.from(unread.subarray(6, 6 + length).map((byte, at) => byte ^ mask[at % 4]));
      const opcode = unread[0] & 15;
      unread = unread.subarray(6 + length);
      const frame = Buffer.concat([Buffer.from([128 | opcode, length]), payload]);
      if (opcode === 8) socket.end(frame);
      else socket.write(frame);
    }
  });
});
process.once('SIGTERM', () => {
  for (const socket of sockets) socket.end(Buffer.from([136, 2, 3, 233]));
  server.close(() => process.exit(0));
});
`;

/** App for all kinds of load; answers with `text`. */
export function loaded(text: string): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': [...loadedHead(text), LOADED_SERVER, 'server.listen(Number(process.env.PORT));', ''].join('\n'),
  };
}

/**
 * App for all kinds of load with `ballastBytes` of random bytes from its build. Exits at once on the server with the
 * proxy address `failsAt`.
 */
export function loadedFor(text: string, { ballastBytes = 0, failsAt = '' }): Files {
  const [host, port] = failsAt.split(':');
  const head =
    failsAt === ''
      ? []
      : [
          "import { connect } from 'node:net';",
          'const isHere = await new Promise((resolve) => {',
          `  connect(${port}, ${JSON.stringify(host)}).on('connect', () => resolve(true)).on('error', () => resolve(false));`,
          '});',
          "if (isHere) throw new Error('this server does not suit me');",
        ];
  const { 'server.js': server } = loaded(text);
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'build.js': `import { randomBytes } from 'node:crypto';\nimport { writeFileSync } from 'node:fs';\nwriteFileSync('ballast', randomBytes(${ballastBytes}));\n`,
    'server.js': [...head, server].join('\n'),
  };
}

export interface GatesOfApp {
  /** Gate that the build waits at. */
  readonly build: string;
  /** Gate that the release command waits at, if there is one. */
  readonly release: string;
  /** Gate that the app waits at before it listens. */
  readonly start: string;
  /** Gate that gets a signal with the first health check that the app answers. */
  readonly healthy: string;
  /** Gate that holds the response to `/hold`. */
  readonly hold: string;
  /** Number of random bytes that the build adds, so that packing and unpacking take a while. */
  readonly ballastBytes: number;
}

/** App for all kinds of load with gates in its build, its start and the path `/hold`. */
export function gated(text: string, gates: GatesOfApp): Files {
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'build.js': [
      "import { randomBytes } from 'node:crypto';",
      "import { writeFileSync } from 'node:fs';",
      `writeFileSync('ballast', randomBytes(${gates.ballastBytes}));`,
      PASS,
      `await pass(${JSON.stringify(gates.build)});`,
      '',
    ].join('\n'),
    'release.js': `${PASS}\nawait pass(${JSON.stringify(gates.release)});\n`,
    'server.js': [
      ...loadedHead(text),
      PASS,
      `const gates = ${JSON.stringify(gates)};`,
      LOADED_SERVER,
      'const [answer] = server.listeners("request");',
      'server.removeAllListeners("request");',
      'let told = false;',
      'server.on("request", (request, response) => {',
      '  if (request.url === "/hold") return pass(gates.hold, "?" + process.pid).then(() => response.end(text));',
      '  answer(request, response);',
      '  if (request.url !== "/up" || told) return;',
      '  told = true;',
      '  response.once("finish", () => pass(gates.healthy).catch(() => undefined));',
      '});',
      'await pass(gates.start);',
      'server.listen(Number(process.env.PORT));',
      '',
    ].join('\n'),
  };
}

function loadedHead(text: string): string[] {
  return [
    "import { createHash } from 'node:crypto';",
    "import { createServer } from 'node:http';",
    `const text = ${JSON.stringify(text)};`,
  ];
}

/** App that is healthy, and answers every other request with 500 and `line` in its log. */
export function brokenApp(line: string): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': serverOf(
      `if (request.url !== '/up') console.error(${JSON.stringify(line)});`,
      "response.writeHead(request.url === '/up' ? 200 : 500).end();",
    ),
  };
}

/** App that holds a request to `/hold/<name>` until the gate of that name opens. */
export function holdingApp(gates: Gates): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': [
      PASS,
      serverOf(
        "const name = request.url.split('/hold/')[1];",
        "if (name === undefined) return response.end('up');",
        `pass(${JSON.stringify(gates.address(''))} + name).then(() => response.end('held'));`,
      ),
    ].join('\n'),
  };
}

/** App that writes the query of `/write` to a file of its volume `notes`, and answers with the file. */
export function volumeApp(text: string): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': [
      "import { existsSync, readFileSync, writeFileSync } from 'node:fs';",
      "const file = process.env.FAIRLEAD_VOLUMES + '/notes/text';",
      serverOf(
        "if (request.url.startsWith('/write?')) writeFileSync(file, request.url.split('?')[1]);",
        `response.end(${JSON.stringify(`${text}: `)} + (existsSync(file) ? readFileSync(file, 'utf8') : ''));`,
      ),
    ].join('\n'),
  };
}

/** App that answers with the output of all its release commands; they wait at the gate `migrate`. */
export function migratingApp(text: string, gates: Gates): Files {
  const file = "process.env.FAIRLEAD_VOLUMES + '/data/migrations'";
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'release.js': [
      "import { appendFileSync } from 'node:fs';",
      PASS,
      `await pass(${JSON.stringify(gates.address('migrate'))});`,
      `appendFileSync(${file}, ${JSON.stringify(`migrated ${text}\n`)});`,
      '',
    ].join('\n'),
    'server.js': [
      "import { readFileSync } from 'node:fs';",
      serverOf(`response.end(${JSON.stringify(`${text}: `)} + readFileSync(${file}, 'utf8'));`),
    ].join('\n'),
  };
}

/** App that answers with the number of builds that its cache has seen. */
export function buildCountingApp(): Files {
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'build.js': [
      "import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';",
      "const folder = 'node_modules/.cache/counter';",
      "const file = folder + '/builds';",
      "const build = existsSync(file) ? Number(readFileSync(file, 'utf8')) + 1 : 1;",
      'mkdirSync(folder, { recursive: true });',
      'writeFileSync(file, String(build));',
      "writeFileSync('build.txt', 'build ' + build);",
      '',
    ].join('\n'),
    'server.js': [
      "import { readFileSync } from 'node:fs';",
      serverOf("response.end(readFileSync('build.txt', 'utf8'));"),
    ].join('\n'),
  };
}

/** App that answers with a random stamp of its build and the variable STAGE. */
export function stampedApp(): Files {
  return {
    'package.json': manifest({ build: 'node build.js', start: 'node server.js' }),
    'build.js': [
      "import { randomUUID } from 'node:crypto';",
      "import { writeFileSync } from 'node:fs';",
      "writeFileSync('stamp', randomUUID());",
      '',
    ].join('\n'),
    'server.js': [
      "import { readFileSync } from 'node:fs';",
      serverOf("response.end(readFileSync('stamp', 'utf8') + ' ' + process.env.STAGE);"),
    ].join('\n'),
  };
}

/** App that logs a JSON line for each `/order/<number>`: an error for even numbers. */
export function loggingApp(): Files {
  return {
    'package.json': manifest({ start: 'node server.js' }),
    'server.js': serverOf(
      "const order = Number(request.url.split('/order/')[1]);",
      "const [level, end] = order % 2 === 0 ? ['error', 'refused'] : ['info', 'paid'];",
      "if (order > 0) console.log(JSON.stringify({ level, msg: 'order ' + order + ' ' + end }));",
      "response.end('logged');",
    ),
  };
}

/** Source of a server with these lines as its handler. */
function serverOf(...handler: readonly string[]): string {
  return [
    "import { createServer } from 'node:http';",
    'const server = createServer((request, response) => {',
    ...handler.map((line) => `  ${line}`),
    '});',
    'server.keepAliveTimeout = 75_000;',
    'server.listen(Number(process.env.PORT));',
    "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
    '',
  ].join('\n');
}
