// DNS server of a test (RFC 1035, over UDP and TCP): knows the records that the test sets, and that no other name exists.
import { createSocket } from 'node:dgram';
import { type AddressInfo, createServer, isIPv4, type Socket } from 'node:net';

const types = { A: 1, CNAME: 5, TXT: 16, AAAA: 28, CAA: 257 } as const;
const headerBytes = 12;
/** QR, AA and RA: an authoritative response of a server that recurses. */
const response = 0x8480;
const recursionDesired = 0x0100;
const refused = 5;
const unknownName = 3;

export interface TestDnsRecord {
  readonly type: keyof typeof types;
  /** Address, name or text; of CAA, the tag and the value: `issue letsencrypt.org`. */
  readonly value: string;
}

export interface TestDnsServer {
  /** Address with port. */
  readonly address: string;
  /** Replaces all records of a name. */
  set(name: string, records: readonly TestDnsRecord[]): void;
  /** From now on, refuses every query, or answers again. */
  refuse(refuses: boolean): void;
  close(): Promise<void>;
}

/** Default: a free port on loopback. */
export async function startDnsServer({ address = '127.0.0.1', port = 0 } = {}): Promise<TestDnsServer> {
  const zone = new Map<string, readonly TestDnsRecord[]>();
  let refuses = false;
  const answerTo = (query: Buffer) => respond(query, refuses ? null : zone);
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
    // A client that resets its connection needs no answer.
    connection.on('error', () => connection.destroy());
    serveStream(connection, answerTo);
  });
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  const bound = (server.address() as AddressInfo).port;
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const answer = answerTo(query);
    if (answer !== null) socket.send(answer, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(bound, address, resolve));
  return {
    address: `${address}:${bound}`,
    set: (name, records) => void zone.set(name, records),
    refuse: (value) => {
      refuses = value;
    },
    close: async () => {
      for (const connection of connections) connection.destroy();
      await new Promise<void>((resolve) => socket.close(() => resolve()));
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Answers queries over TCP: each message has its length in front (RFC 1035, section 4.2.2). */
function serveStream(connection: Socket, answerTo: (query: Buffer) => Buffer | null): void {
  let received: Buffer = Buffer.alloc(0);
  connection.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      const answer = answerTo(received.subarray(2, end));
      received = received.subarray(end);
      if (answer === null) continue;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answer.length);
      connection.write(Buffer.concat([length, answer]));
    }
  });
}

type Zone = ReadonlyMap<string, readonly TestDnsRecord[]>;

/** Answers a query with one question; null if it is none. */
function respond(query: Buffer, zone: Zone | null): Buffer | null {
  if (query.length < headerBytes || query.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query[at]; length !== undefined && length > 0; length = query[at]) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  if (query.length < end) return null;
  const type = query.readUInt16BE(at + 1);
  const name = labels.join('.').toLowerCase();
  const answers = zone === null ? [] : find(zone, name, type);
  const status = zone === null ? refused : recordsOf(zone, name) === undefined ? unknownName : 0;
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  header.writeUInt16BE(response | (query.readUInt16BE(2) & recursionDesired) | status, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers.length, 6);
  return Buffer.concat([header, query.subarray(headerBytes, end), ...answers]);
}

/** Returns the records of a name, or else those of the wildcard above it. */
function recordsOf(zone: Zone, name: string): readonly TestDnsRecord[] | undefined {
  return zone.get(name) ?? zone.get(name.replace(/^[^.]+/, '*'));
}

/** Follows aliases, as a resolver does. */
function find(zone: Zone, name: string, type: number): Buffer[] {
  const records = recordsOf(zone, name) ?? [];
  const own = records.filter((each) => types[each.type] === type).map((each) => encode(name, each));
  const alias = records.find((each) => each.type === 'CNAME');
  if (own.length > 0 || alias === undefined) return own;
  return [encode(name, alias), ...find(zone, alias.value, type)];
}

function encode(name: string, { type, value }: TestDnsRecord): Buffer {
  const data = dataOf(type, value);
  const head = Buffer.alloc(10);
  head.writeUInt16BE(types[type], 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(1, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameOf(name), head, data]);
}

function dataOf(type: TestDnsRecord['type'], value: string): Buffer {
  if (type === 'CNAME') return nameOf(value);
  if (type === 'TXT') return textOf(value);
  if (type === 'CAA') {
    const [tag = '', ...rest] = value.split(' ');
    return Buffer.concat([Buffer.of(0), textOf(tag), Buffer.from(rest.join(' '))]);
  }
  if (isIPv4(value)) return Buffer.from(value.split('.').map(Number));
  const [head = '', tail = ''] = value.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const gap = Array<string>(8 - groups(head).length - groups(tail).length).fill('0');
  return Buffer.from([...groups(head), ...gap, ...groups(tail)].map((each) => each.padStart(4, '0')).join(''), 'hex');
}

function nameOf(name: string): Buffer {
  return Buffer.concat([...name.split('.').map(textOf), Buffer.of(0)]);
}

function textOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}
