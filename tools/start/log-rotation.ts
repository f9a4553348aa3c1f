// Rotates the log files of running processes by copying and emptying them, because their writers keep them open.
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

export interface RotationOptions {
  /** Size from which a log is rotated. Default: 20 MiB. */
  readonly bytesMax?: number;
  /** Number of rotated files to keep of each log, as `.1` (newest), `.2` and so on. Default: 3. */
  readonly kept?: number;
  /** Pause between two checks. Default: 30 s. */
  readonly everyMs?: number;
}

const BYTES_MAX = 20 * 1024 * 1024;
const KEPT = 3;
const EVERY_MS = 30_000;
const CHUNK_BYTES = 64 * 1024;

/** Rotates the `.log` files of a folder until the returned function is called. A failure is noted, and tried again. */
export function startRotation(folder: string, note: (line: string) => void, options: RotationOptions = {}): () => void {
  const timer = setInterval(() => {
    try {
      rotateLogs(folder, options);
    } catch (error) {
      note(`the logs in ${folder} could not be rotated: ${error instanceof Error ? error.message : error}`);
    }
  }, options.everyMs ?? EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Rotates each large log of the folder. */
export function rotateLogs(folder: string, { bytesMax = BYTES_MAX, kept = KEPT }: RotationOptions = {}): void {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.log'))) {
    const file = join(folder, name);
    if (statSync(file).size > bytesMax) rotate(file, kept);
  }
}

/**
 * Copies the log to `.1` and empties it. Its writers must append (O_APPEND). A line is lost only if it is written
 * between the last read and the truncation, which follow each other at once.
 */
function rotate(file: string, kept: number): void {
  const copy = `${file}.new`;
  copyFileSync(file, copy, constants.COPYFILE_FICLONE);
  const [from, to] = [openSync(file, 'r+'), openSync(copy, 'a', 0o600)];
  try {
    // Lines that were written during the copy.
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let position = statSync(copy).size;
    for (;;) {
      const length = readSync(from, chunk, 0, CHUNK_BYTES, position);
      if (length === 0) break;
      writeSync(to, chunk, 0, length);
      position += length;
    }
    ftruncateSync(from);
  } finally {
    closeSync(from);
    closeSync(to);
  }
  for (let number = kept - 1; number >= 1; number--) {
    if (existsSync(`${file}.${number}`)) renameSync(`${file}.${number}`, `${file}.${number + 1}`);
  }
  renameSync(copy, `${file}.1`);
}
