// Messages of dynamic DNS updates (RFC 2136) with a transaction signature (TSIG, RFC 8945). Pure.
import { createHmac } from 'node:crypto';
import type { TsigAlgorithm } from './provider.ts';

const opcodeUpdate = 5 << 11;
const types = { SOA: 6, TXT: 16, TSIG: 250 } as const;
const classes = { IN: 1, NONE: 254, ANY: 255 } as const;
const fudgeSeconds = 300;

export interface TsigKey {
  readonly name: string;
  readonly algorithm: TsigAlgorithm;
  /** Base64. */
  readonly secret: string;
}

export interface Update {
  readonly id: number;
  readonly zone: string;
  /** Absent: the update changes nothing, and only checks zone and key. */
  readonly change?: {
    readonly action: 'add' | 'delete';
    readonly name: string;
    readonly value: string;
    readonly ttl: number;
  };
}

/** Encodes an update and signs it. */
export function encodeUpdate({ id, zone, change }: Update, key: TsigKey, unixSeconds: number): Buffer {
  const zoneSection = Buffer.concat([nameBytes(zone), u16(types.SOA), u16(classes.IN)]);
  const updates = change === undefined ? [] : [changeRecord(change)];
  const message = Buffer.concat([
    Buffer.concat([id, opcodeUpdate, 1, 0, updates.length, 0].map(u16)),
    zoneSection,
    ...updates,
  ]);
  const keyName = nameBytes(key.name);
  const algorithm = nameBytes(key.algorithm);
  const time = Buffer.concat([u16(Math.floor(unixSeconds / 2 ** 32)), u32(unixSeconds % 2 ** 32), u16(fudgeSeconds)]);
  // Error and other data are empty in a request.
  const variables = Buffer.concat([keyName, u16(classes.ANY), u32(0), algorithm, time, u16(0), u16(0)]);
  const hash = key.algorithm.slice('hmac-'.length);
  const mac = createHmac(hash, Buffer.from(key.secret, 'base64')).update(message).update(variables).digest();
  const data = Buffer.concat([algorithm, time, u16(mac.length), mac, u16(id), u16(0), u16(0)]);
  const tsig = Buffer.concat([keyName, u16(types.TSIG), u16(classes.ANY), u32(0), u16(data.length), data]);
  const signed = Buffer.concat([message, tsig]);
  // ARCOUNT.
  signed.writeUInt16BE(1, 10);
  return signed;
}

function changeRecord({ action, name, value, ttl }: NonNullable<Update['change']>): Buffer {
  const text = Buffer.from(value, 'latin1');
  const data = Buffer.concat([Buffer.from([text.length]), text]);
  const [kind, seconds] = action === 'add' ? [classes.IN, ttl] : [classes.NONE, 0];
  return Buffer.concat([nameBytes(name), u16(types.TXT), u16(kind), u32(seconds), u16(data.length), data]);
}

export interface UpdateResponse {
  readonly id: number;
  readonly code: number;
}

/** Reads the header of a response; null if it is none. */
export function decodeResponse(message: Buffer): UpdateResponse | null {
  if (message.length < 12 || (message.readUInt16BE(2) & 0x8000) === 0) return null;
  return { id: message.readUInt16BE(0), code: message.readUInt16BE(2) & 0xf };
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label.toLowerCase(), 'latin1');
    if (bytes.length > 63) throw new RangeError(`the label ${label} is too long`);
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  });
  return Buffer.concat([...parts, Buffer.alloc(1)]);
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
