// Tests of the preload that serves a service on a Unix socket: it marks those connections, and hides the header of others.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { ROOT } from '../lib/command.ts';
import { nodeOf } from '../lib/install.mjs';
import { type Undo, undoAll } from '../lib/undo.ts';

const undo: Undo[] = [];
afterEach(() => undoAll(undo.splice(0)));

/** Answers with the header and the mark that it sees; prints its port. */
const service = `
  const { createServer } = require('node:http');
  const seen = ({ headers, socket }) =>
    JSON.stringify([headers['x-forwarded-for'] ?? null, socket[Symbol.for('fairlead.fromProxy')] === true]);
  const server = createServer((request, response) => response.end(seen(request)));
  if (process.env.UPGRADES === 'yes')
    server.on('upgrade', (request, socket) => {
      const body = seen(request);
      socket.end('HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: ' + body.length + '\\r\\n\\r\\n' + body);
    });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

interface Running {
  readonly port: number;
  readonly socketPath: string;
}

async function start(env: Readonly<Record<string, string>>): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-control-socket-'));
  undo.push(async () => rmSync(folder, { recursive: true }));
  const socketPath = join(folder, 'service.sock');
  const preload = pathToFileURL(join(ROOT, 'tools/start/control-socket.ts')).href;
  const child = spawn(nodeOf(ROOT), ['--import', preload, '--eval', service], {
    env: { ...env, FAIRLEAD_CONTROL_SOCKET: socketPath },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  undo.push(async () => {
    const exited = once(child, 'exit');
    child.kill();
    await exited;
  });
  const [line] = await once(child.stdout, 'data');
  return { port: Number(String(line)), socketPath };
}

async function see(target: { port: number } | { socketPath: string }, isUpgrade: boolean): Promise<unknown> {
  const upgrade = isUpgrade ? { connection: 'upgrade', upgrade: 'websocket' } : {};
  const sent = request({ host: '127.0.0.1', ...target, headers: { ...upgrade, 'x-forwarded-for': '203.0.113.66' } });
  sent.end();
  const [response] = await once(sent, 'response');
  let body = '';
  for await (const chunk of response) body += chunk;
  return JSON.parse(body);
}

test.each([
  [false, 'no'],
  [true, 'no'],
  [true, 'yes'],
])('only the proxy’s header is believed (upgrade %s, service takes upgrades: %s)', async (isUpgrade, UPGRADES) => {
  const { port, socketPath } = await start({ UPGRADES });
  expect(await see({ port }, isUpgrade)).toEqual(['unknown', false]);
  expect(await see({ socketPath }, isUpgrade)).toEqual(['203.0.113.66', true]);
});

test('with trusted proxies the header of the TCP port is left to the service, without the mark', async () => {
  const { port, socketPath } = await start({ FAIRLEAD_TRUSTED_PROXIES: '10.0.0.1' });
  expect(await see({ port }, false)).toEqual(['203.0.113.66', false]);
  expect(await see({ socketPath }, false)).toEqual(['203.0.113.66', true]);
});
