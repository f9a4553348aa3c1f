// Autobahn's WebSocket cases through the proxy to an echo app on `ws`. Needs Python 2.7 and reports NOT RUN without it;
// the suite `websocket` of fairlead-protocols is the equivalent that always runs.
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { WebSocketServer } from 'ws';
import { run } from '../../tools/lib/command.ts';
import { cacheFolder } from './folders.ts';
import { startProxy } from './proxy-under-test.ts';
import type { Case, SuiteResult } from './result.ts';

const PACKAGE = 'autobahntestsuite==25.10.1';
/** Largest message of section 9. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
/** Path that plain HTTP may reach, because the suite's TLS sends no server name. */
const PATH = '/.well-known/acme-challenge/echo';
const GOOD = new Set(['OK', 'NON-STRICT', 'INFORMATIONAL']);

async function findPython(): Promise<string | undefined> {
  const installed = globSync('.pyenv/versions/2.7.*/bin/python2.7', { cwd: homedir() }).map((file) =>
    join(homedir(), file),
  );
  for (const python of ['python2.7', ...installed]) {
    if ((await run(python, ['-m', 'pip', '--version'])).code === 0) return python;
  }
  return undefined;
}

/** Returns the folder of its modules, or why there is none. */
async function install(python: string): Promise<{ readonly modules: string } | { readonly missing: string }> {
  const folder = cacheFolder('autobahn');
  const modules = join(folder, 'modules');
  const done = join(folder, 'installed');
  if (existsSync(done)) return { modules };
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--upgrade', '--target', modules];
  const installed = await run(python, [...args, PACKAGE]);
  if (installed.code !== 0) return { missing: `pip could not install it:\n${installed.output.trimEnd()}` };
  writeFileSync(done, PACKAGE);
  return { modules };
}

interface Report {
  readonly [agent: string]: { readonly [id: string]: { readonly behavior: string; readonly behaviorClose: string } };
}

function readReport(folder: string): Case[] {
  const file = join(folder, 'index.json');
  if (!existsSync(file)) return [];
  const report: Report = JSON.parse(readFileSync(file, 'utf8'));
  return Object.entries(report.fairlead ?? {}).map(([id, { behavior, behaviorClose }]) => ({
    name: `autobahn/${id}`,
    passed: GOOD.has(behavior) && GOOD.has(behaviorClose),
  }));
}

export async function runAutobahn(program: string): Promise<SuiteResult> {
  const suite = 'autobahn';
  const python = await findPython();
  if (python === undefined) return { suite, cases: [], notRun: 'it wants Python 2.7, which is not here' };
  const installed = await install(python);
  if ('missing' in installed) return { suite, cases: [], notRun: installed.missing };

  const app = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    perMessageDeflate: true,
    maxPayload: 2 * MESSAGE_BYTES_MAX,
    // Section 9 sends 4 MiB in 65,536 pieces, which is beyond what `ws` takes by default.
    maxFragments: 0,
    maxBufferedChunks: 0,
  });
  await once(app, 'listening');
  app.on('connection', (socket) => {
    socket.on('message', (data, binary) => socket.send(data, { binary }));
    // Most cases are about clients that violate the protocol.
    socket.on('error', () => socket.terminate());
  });
  const address = app.address();
  if (address === null || typeof address === 'string') throw new Error('a listening socket has no port.');
  const proxy = await startProxy(program, `127.0.0.1:${address.port}`);
  try {
    const reports = join(cacheFolder('autobahn'), 'reports');
    rmSync(reports, { recursive: true, force: true });
    const url = `ws://localhost:${proxy.httpPort}${PATH}`;
    const plan = { outdir: reports, servers: [{ agent: 'fairlead', url }], cases: ['*'], 'exclude-cases': [] };
    const file = join(cacheFolder('autobahn'), 'plan.json');
    writeFileSync(file, JSON.stringify({ ...plan, 'exclude-agent-cases': {} }));
    // `site` reads the .pth files, without which Python 2 does not see namespace packages.
    const start = `import site; site.addsitedir(${JSON.stringify(installed.modules)}); from autobahntestsuite import wstest; wstest.run()`;
    const { output } = await run(python, ['-c', start, '-m', 'fuzzingclient', '-s', file]);
    const cases = readReport(reports);
    return { suite, cases: cases.length > 0 ? cases : [{ name: 'autobahn/runs-to-its-end', passed: false }], output };
  } finally {
    await proxy.stop();
    for (const socket of app.clients) socket.terminate();
    app.close();
  }
}
