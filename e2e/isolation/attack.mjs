// Attack attempts from a container, which has Node and no Python: `node attack.mjs JSON` prints a line of JSON for
// each, as attack.py does.
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';

const TIMEOUT_MS = 1500;
const LIMIT = 4096;

/** Connects, sends and reads. */
function tcp({ host, port, send = 'GET / HTTP/1.0\r\n\r\n', raw }) {
  return settle((done, stop) => {
    let text = '';
    const connection = createConnection({ host, port });
    connection.setTimeout(TIMEOUT_MS, () => (text === '' ? stop('no answer') : done(text)));
    connection.once('connect', () => connection.write(raw === undefined ? send : Buffer.from(raw, 'hex')));
    connection.on('data', (bytes) => {
      text = (text + bytes.toString('latin1')).slice(0, LIMIT);
    });
    connection.once('error', (error) => stop(error.code ?? error.message));
    connection.once('close', () => done(text));
    return () => connection.destroy();
  });
}

function udp({ host, port }) {
  return settle((done, stop) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    const timer = setTimeout(() => stop('no answer'), TIMEOUT_MS);
    socket.once('error', (error) => stop(error.code ?? error.message));
    socket.once('message', (bytes) => done(bytes.toString('latin1')));
    socket.connect(port, host, () => socket.send('hello'));
    return () => {
      clearTimeout(timer);
      socket.close();
    };
  });
}

/** Keeps the first result. */
async function settle(attempt) {
  const settled = Promise.withResolvers();
  const end = attempt(
    (got) => settled.resolve({ got }),
    (stopped) => settled.resolve({ stopped }),
  );
  const answer = await settled.promise;
  end();
  return answer;
}

const techniques = { tcp, udp };
const given = process.argv[2] ?? '';
const attempts = JSON.parse(given.startsWith('[') ? given : readFileSync(given, 'utf8'));
for (const { id, technique, args } of attempts) {
  const run = techniques[technique];
  const answer = run === undefined ? { broken: `no technique ${technique}` } : await run(args);
  console.log(JSON.stringify({ id, ...answer }));
}
