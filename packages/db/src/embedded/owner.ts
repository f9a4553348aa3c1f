// Records which of our processes runs the cluster of a data folder. Process numbers are reused, so it stores the
// start time too.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedError } from './error.ts';

const fileName = 'owner';

/** Throws when another living process owns the data folder; otherwise this one does from now on. */
export async function takeOwnership(dataDir: string): Promise<void> {
  const path = join(dataDir, fileName);
  const recorded = await readIfThere(path);
  const [pid, startedAt] = recorded.trim().split(' ');
  if (pid !== undefined && pid !== '' && Number(pid) !== process.pid && (await startOf(Number(pid))) === startedAt) {
    throw new EmbeddedError(
      'already_running',
      `Fairlead already runs on ${dataDir} (process ${pid}). Stop it first, or choose another data folder.`,
      dataDir,
    );
  }
  await writeFile(path, `${process.pid} ${await startOf(process.pid)}\n`, { mode: 0o644 });
}

/** Field 22 of /proc/<pid>/stat, clock ticks since boot; the name before it may hold spaces and brackets. */
async function startOf(pid: number): Promise<string | null> {
  const line = await readIfThere(`/proc/${pid}/stat`);
  if (line === '') return null;
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  // A killed process that was not reaped yet owns nothing any more.
  return fields[0] === 'Z' ? null : (fields[19] ?? null);
}

async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ESRCH: the process ended between opening and reading.
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}
