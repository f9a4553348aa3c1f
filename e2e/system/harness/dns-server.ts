// DNS server of a test network (RFC 1035, over UDP): knows the addresses of some names, and that no other name exists.
// Runs as a process of its own, in the network of the switch: `node dns-server.ts ADDRESS NAME=ADDRESS…`.
import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';

const PORT = 53;
const HEADER_BYTES = 12;
const TTL_SECONDS = 60;
const TYPES = { A: 1, AAAA: 28 } as const;
/** QR and AA: an authoritative response. */
const RESPONSE = 0x8400;
const RECURSION_DESIRED = 0x0100;
const NAME_UNKNOWN = 3;
/** Compressed name (RFC 1035, section 4.1.4): the one of the question. */
const NAME_OF_QUESTION = 0xc000 | HEADER_BYTES;

/** Answers a query with one question; null if it is none. */
function respond(query: Buffer, addresses: ReadonlyMap<string, readonly string[]>): Buffer | null {
  if (query.length < HEADER_BYTES || query.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]; length !== undefined && length > 0; length = query[at]) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  if (query.length < end) return null;
  const type = query.readUInt16BE(at + 1);
  const known = addresses.get(labels.join('.').toLowerCase());
  const answers = (known ?? []).filter((address) => (isIPv4(address) ? TYPES.A : TYPES.AAAA) === type);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  const flags = RESPONSE | (query.readUInt16BE(2) & RECURSION_DESIRED);
  header.writeUInt16BE(flags | (known === undefined ? NAME_UNKNOWN : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers.length, 6);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...answers.map((each) => record(type, each))]);
}

function record(type: number, address: string): Buffer {
  const bytes = bytesOf(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(NAME_OF_QUESTION, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(TTL_SECONDS, 6);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const gap = Array<string>(8 - groups(head).length - groups(tail).length).fill('0');
  return Buffer.from([...groups(head), ...gap, ...groups(tail)].map((each) => each.padStart(4, '0')).join(''), 'hex');
}

const [listen = '', ...entries] = process.argv.slice(2);
const pairs = entries.map((entry) => entry.split('=') as [string, string]);
const addresses = new Map(
  [...Map.groupBy(pairs, ([name]) => name)].map(([name, own]) => [name, own.map(([, address]) => address)]),
);
const socket = createSocket('udp4');
socket.on('message', (query, from) => {
  const response = respond(query, addresses);
  if (response !== null) socket.send(response, from.port, from.address);
});
socket.bind(PORT, listen, () => process.stdout.write('ready\n'));
