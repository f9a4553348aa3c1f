// Backup in a process of its own for the worker, which must not wait for compression and encryption. Reads the request
// from the first line of stdin and writes one line of JSON. Ends with stdin, so that it never outlives its worker.
import { getPriority, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { layOut } from '../start/folders.ts';
import { ArchiveError } from './archive.ts';
import { backUp, pruneBackups } from './backup.ts';

const requestSchema = z.object({
  dataDir: z.string(),
  databaseUrl: z.string(),
  masterKeyFile: z.string(),
  to: z.string(),
  keep: z.number().int().positive(),
  recipient: z.string().optional(),
});

async function run(line: string): Promise<object> {
  const { dataDir, to, keep, ...request } = requestSchema.parse(JSON.parse(line));
  try {
    const { dataFile, keysFile, sizeBytes } = await backUp({
      ...request,
      folders: layOut(dataDir),
      to,
      now: new Date(),
      onNewRecoveryKey: () => {
        throw new ArchiveError(
          'no recovery key is known. Set backup.recipient to the public half of one, or make the first backup with npm run backup -- --recovery-key FILE',
        );
      },
    });
    return { dataFile, keysFile, sizeBytes, deleted: pruneBackups(to, keep) };
  } catch (error) {
    const failure = explain(error as NodeJS.ErrnoException, to);
    if (failure === undefined) throw error;
    return { failure: `${failure.charAt(0).toUpperCase()}${failure.slice(1)}.` };
  }
}

/** Returns a sentence for the operator; undefined for an error that only the log can explain. */
function explain(error: NodeJS.ErrnoException, to: string): string | undefined {
  if (error instanceof ArchiveError) return error.message;
  if (error.code === 'ENOSPC') return `the disk of ${error.path ?? to} is full`;
  // A folder that cannot be created on a read-only disk is ENOENT for mkdir.
  if (error.code === 'EROFS' || (error.syscall === 'mkdir' && error.path === to))
    return `${error.path ?? to} cannot be written: it is read-only for Fairlead, or does not exist. Under systemd, run systemctl edit fairlead and add ReadWritePaths=${to}`;
  if (error.code === 'EACCES' || error.code === 'EPERM') return `${error.path ?? to} cannot be written (${error.code})`;
  return undefined;
}

const BACKGROUND_PRIORITY = 10;
// Gateway, dashboard and apps come first. Only root may lower the number again.
setPriority(Math.max(getPriority(), BACKGROUND_PRIORITY));
const input = createInterface({ input: process.stdin });
input.once('line', (line) => {
  run(line).then(
    (result) => process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0)),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
input.once('close', () => process.exit(1));
