// Tar.gz writer for browsers and the web server, in POSIX.1-2017 pax format ("ustar Interchange Format", "pax Extended Header Block").
// Streams: holds at most one piece of one file in memory.

export interface TarEntry {
  /** Path relative to the folder, with slashes. */
  readonly path: string;
  readonly file: Blob;
  /** Permission bits; default: executable. */
  readonly mode?: number;
}

const BLOCK = 512;
const NAME_BYTES = 100;
/**
 * A browser does not reveal the executable bit: set it for all files, because a script without it would break a build.
 */
const DEFAULT_MODE = 0o755;
const MODIFIED = 0;
const encoder = new TextEncoder();

export function packTarGz(entries: readonly TarEntry[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const pieces = pack(entries);
  const tar = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: async (controller) => {
      const { value, done } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => {
      await pieces.return();
    },
  });
  return tar.pipeThrough(new CompressionStream('gzip'));
}

async function* pack(entries: readonly TarEntry[]): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  for (const { path, file, mode = DEFAULT_MODE } of entries) {
    const name = encoder.encode(path);
    if (name.length > NAME_BYTES) {
      // The path does not fit into the next header: an extended header before it holds the whole path.
      const record = paxRecord('path', path);
      yield header(encoder.encode('pax'), { sizeBytes: record.length, kind: 'x', mode });
      yield padded(record);
    }
    yield header(name.slice(0, NAME_BYTES), { sizeBytes: file.size, kind: '0', mode });
    const reader = file.stream().getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield new Uint8Array(piece.value);
    if (file.size % BLOCK > 0) yield new Uint8Array(BLOCK - (file.size % BLOCK));
  }
  yield new Uint8Array(2 * BLOCK);
}

interface Header {
  readonly sizeBytes: number;
  readonly kind: '0' | 'x';
  readonly mode: number;
}

function header(name: Uint8Array, { sizeBytes, kind, mode }: Header): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const put = (text: string, at: number) => block.set(encoder.encode(text), at);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  block.set(name, 0);
  put(octal(mode, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(sizeBytes, 11), 124);
  put(octal(MODIFIED, 11), 136);
  // The checksum is computed with eight spaces in its own field.
  put('        ', 148);
  put(kind, 156);
  put('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** Returns "length key=value\n"; the length counts its own digits. */
function paxRecord(key: string, value: string): Uint8Array<ArrayBuffer> {
  const rest = encoder.encode(` ${key}=${value}\n`).length;
  let length = rest + String(rest).length;
  if (String(length).length + rest > length) length = String(length).length + rest;
  return new Uint8Array(encoder.encode(`${length} ${key}=${value}\n`));
}

function padded(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
  whole.set(bytes);
  return whole;
}
