// Selects the account of this machine that runs the server. PostgreSQL refuses to run as root, so root uses
// `postgres`.
// Invariant: it never changes an account that exists.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { EmbeddedError } from './error.ts';

export interface ServerAccount {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const accountName = 'postgres';

/** The account to switch to; null when we are not root and simply stay who we are. */
export async function serverAccount(): Promise<ServerAccount | null> {
  if (process.getuid?.() !== 0) return null;
  const existing = await findAccount();
  if (existing !== null) return existing;
  const useradd = spawn(
    'useradd',
    ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', accountName],
    {
      stdio: 'ignore',
    },
  );
  const code = await once(useradd, 'exit').then(
    ([exit]) => exit,
    () => null,
  );
  const made = await findAccount();
  if (made !== null) return made;
  throw new EmbeddedError(
    'account_missing',
    `PostgreSQL can't run as root and the user "${accountName}" could not be made (useradd: ${code ?? 'not found'}). ` +
      `Create that user, start as an ordinary user, or set DATABASE_URL.`,
  );
}

async function findAccount(): Promise<ServerAccount | null> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n');
  const fields = lines.find((line) => line.startsWith(`${accountName}:`))?.split(':');
  if (fields === undefined) return null;
  return { name: accountName, uid: Number(fields[2]), gid: Number(fields[3]) };
}
