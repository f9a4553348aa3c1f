// Target services of attacks: `node targets.ts FILE` starts those that the file lists, in its own network. Each
// responds with a token that proves the access, and records what it received and from which address.

import { createSocket } from 'node:dgram';
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';

export interface Target {
  readonly kind: 'tcp' | 'udp' | 'dns' | 'unix';
  /** Address, or the path of a socket (`\0` first for an abstract one). */
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** Group to join, with the index or name of the interface. */
  readonly multicast?: { readonly group: string; readonly device: string };
}

export interface TargetsFile {
  readonly targets: readonly Target[];
  /** File that gets one line of JSON for each arrival. */
  readonly record: string;
}

export interface Arrival {
  readonly token: string;
  readonly from: string;
  readonly text: string;
  /** Number of connections open at this service at that moment. */
  readonly open: number;
}

/** Header, one answer: 198.51.100.10 (RFC 1035, section 4). */
const ANSWER = Buffer.from('c00c00010001000000050004c633640a', 'hex');

function answerQuestion(question: Buffer): Buffer {
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 6);
  head.writeUInt16BE(0, 8);
  head.writeUInt16BE(0, 10);
  return Buffer.concat([head, question.subarray(12, questionEnd(question)), ANSWER]);
}

function questionEnd(question: Buffer): number {
  let at = 12;
  while (at < question.length && question[at] !== 0) at += (question[at] ?? 0) + 1;
  return at + 5;
}

async function open(target: Target, note: (arrival: Arrival) => void): Promise<void> {
  const { kind, host, port, token } = target;
  if (kind === 'udp' || kind === 'dns') {
    const socket = host.includes(':')
      ? createSocket({ type: 'udp6', reuseAddr: true, ipv6Only: true })
      : createSocket({ type: 'udp4', reuseAddr: true });
    socket.on('message', (message, { address, port: from }) => {
      note({ token, from: address, text: message.toString('latin1').slice(0, 200), open: 0 });
      socket.send(kind === 'dns' ? answerQuestion(message) : token, from, address);
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('error', (error) => reject(new Error(`${host}: ${error.message}`)));
      socket.bind({ port, address: host }, resolve);
    });
    // The other end may close before it reads the response.
    socket.on('error', () => undefined);
    if (target.multicast !== undefined) socket.addMembership(target.multicast.group, target.multicast.device);
  }
  if (kind === 'udp') return;
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', () => connection.destroy());
    connection.on('data', (data) => {
      const text = data.toString('latin1').slice(0, 200);
      note({ token, from: connection.remoteAddress ?? '', text, open: connections.size });
      if (kind === 'dns') {
        const answer = answerQuestion(data.subarray(2));
        connection.write(Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 255]), answer]));
      } else {
        const head = `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(token)}\r\n\r\n`;
        connection.end(head + token);
      }
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`${host}: ${error.message}`)));
    if (kind === 'unix') server.listen({ path: host }, resolve);
    else server.listen({ host, port, ipv6Only: true, backlog: 1024 }, resolve);
  });
}

if (process.argv[1] === import.meta.filename) {
  const { targets, record } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as TargetsFile;
  await Promise.all(
    targets.map((target) => open(target, (arrival) => appendFileSync(record, `${JSON.stringify(arrival)}\n`))),
  );
  console.log('ready');
}
