// `npm run recover`: prints one link that lets a locked-out person in again, from the control plane's machine. Grants
// no new access, because its user can read the database anyway; every organization of the person gets an audit event.
import { parseArgs } from 'node:util';
import { RecoverFailed, recoverAccount } from '@fairlead/api/recover';
import { ROOT } from './lib/command.ts';
import { findRelease, nameCommands } from './lib/release.ts';
import { NotRunning, requireRunningDatabase } from './lib/running-database.ts';
import { chooseFolders } from './start/folders.ts';

const HELP = `Usage: npm run recover -- --email you@example.com [options]

Prints a link that sets a new password, once, within 30 minutes. Run it on the control plane's machine while it runs.

  --email ADDRESS          email address of the account
  --remove-second-factor   also remove passkeys, authenticator app and recovery codes, when all of them are lost
  --data DIR               the folder that npm start was given (default: as npm start chooses it)
  --url URL                the dashboard's address (default: FAIRLEAD_PUBLIC_URL, else http://localhost:4400)

Environment: DATABASE_URL names the PostgreSQL when it is not the embedded one.
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      email: { type: 'string' },
      'remove-second-factor': { type: 'boolean', default: false },
      data: { type: 'string' },
      url: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help || values.email === undefined) {
    process.stdout.write(nameCommands(HELP, findRelease(ROOT) !== undefined));
    process.exitCode = values.help ? 0 : 1;
    return;
  }
  const folders = chooseFolders({ root: ROOT, data: values.data, isRoot: process.getuid?.() === 0 });
  const { path, organizations } = await recoverAccount({
    databaseUrl: await requireRunningDatabase(folders),
    email: values.email,
    removeSecondFactors: values['remove-second-factor'],
  });
  const url = values.url ?? process.env.FAIRLEAD_PUBLIC_URL ?? 'http://localhost:4400';
  const factor = values['remove-second-factor']
    ? 'Passkeys, authenticator app and recovery codes are removed, every session is ended. '
    : '';
  process.stdout.write(
    `${factor}Written into the audit log of ${organizations} organization${organizations === 1 ? '' : 's'}.\n` +
      `This link sets a new password, once, within 30 minutes:\n\n  ${url.replace(/\/+$/, '')}${path}\n`,
  );
}

main().catch((error: unknown) => {
  const isExpected =
    error instanceof RecoverFailed || error instanceof NotRunning || (error instanceof Error && 'code' in error);
  console.error(isExpected ? `fairlead: ${(error as Error).message}` : error);
  process.exit(1);
});
