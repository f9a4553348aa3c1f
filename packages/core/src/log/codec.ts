// Format of stored log objects: the lines of one chunk as JSON, compressed with zstd (RFC 8878).
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { type LogLine, logLine } from '@fairlead/contract/live';
import { z } from 'zod';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const linesSchema = z.array(logLine);
// Above anything we write; a damaged object must not unpack into all of the memory.
const unpackedBytesMax = 64 * 1024 * 1024;

export async function encodeLogLines(lines: readonly LogLine[]): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await compress(JSON.stringify(lines)));
}

/** Throws when the bytes are damaged or not a log object. */
export async function decodeLogLines(bytes: Uint8Array): Promise<LogLine[]> {
  const text = await decompress(bytes, { maxOutputLength: unpackedBytesMax });
  return linesSchema.parse(JSON.parse(text.toString('utf8')));
}
