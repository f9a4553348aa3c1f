// Files by which the control plane and the updater of an installation communicate: the control plane writes a request, and systemd
// starts `fairlead update` as root, which writes its state and log. Invariant: a request holds a version and nothing else.
import { randomUUID } from 'node:crypto';
import { link, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LastUpdate, updateStateSchema, updateStepSchema } from './schema.ts';

const LOG_LINES_MAX = 40;
/** Silence after which an update counts as interrupted, such as by a power cut. */
const SILENCE_MAX_MS = 20 * 60_000;

/** Returns false if a request waits already. */
export async function writeUpdateRequest(folder: string, version: string): Promise<boolean> {
  const request = requestOf(folder);
  const draft = `${request}.${randomUUID()}`;
  await writeFile(draft, `${version}\n`, { mode: 0o600 });
  try {
    // Unlike a rename, a link replaces no other request.
    await link(draft, request);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(draft);
  }
}

export async function hasUpdateRequest(folder: string): Promise<boolean> {
  return (await readOrNull(requestOf(folder))) !== null;
}

/** Returns the last update, by its button or by the command; null if there was none. */
export async function readLastUpdate(folder: string, now: Date): Promise<LastUpdate | null> {
  const path = join(folder, 'state');
  const text = await readOrNull(path);
  if (text === null) return null;
  const fields = new Map(text.split('\n').map((line) => splitOnce(line)));
  const state = updateStateSchema.catch('failed').parse(fields.get('state'));
  const isLost = state === 'running' && now.getTime() - (await stat(path)).mtimeMs > SILENCE_MAX_MS;
  return {
    from: fields.get('from') ?? '',
    to: fields.get('to') ?? '',
    state: isLost ? 'interrupted' : state,
    step: updateStepSchema.catch('fetch').parse(fields.get('step')),
    startedAt: dateOf(fields.get('started_at')),
    finishedAt: dateOf(fields.get('finished_at')),
    log: ((await readOrNull(join(folder, 'log'))) ?? '').trimEnd().split('\n').slice(-LOG_LINES_MAX),
  };
}

function requestOf(folder: string): string {
  return join(folder, 'requests/request');
}

function splitOnce(line: string): readonly [string, string] {
  const at = line.indexOf(' ');
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}

function dateOf(text: string | undefined): Date | null {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? null : new Date(time);
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
