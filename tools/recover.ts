// `npm run recover`: prints one link that lets a locked-out person in again, from the control plane's machine. Grants
// no new access, because its user can read the database anyway; every organization of the person gets an audit event.
import { parseArgs } from 'node:util';
import { RecoverFailed, recoverAccount } from '@fairlead/api/recover';
import { defaultOf } from '@fairlead/settings';
import { operatorSettings, SettingsError } from '@fairlead/settings/load';
import { ROOT } from './lib/command.ts';
import { findRelease, nameCommands } from './lib/release.ts';
import { NotRunning, requireRunningDatabase } from './lib/running-database.ts';
import { chooseFolders } from './start/folders.ts';

const HELP = `Usage: npm run recover -- --email you@example.com [options]

Prints a link that sets a new password, once, within 30 minutes. Run it on the control plane's machine while it runs.

  --email ADDRESS          email address of the account
  --remove-second-factor   also remove passkeys, authenticator app and recovery codes, when all of them are lost
  --data DIR               the folder that npm start was given (default: as npm start chooses it)
  --url URL                the dashboard's address (default: the public URL of the settings)

It reads the settings of the environment and of the settings file, as npm start does (docs/settings.md).
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
  const settings = operatorSettings();
  const data = values.data ?? settings.FAIRLEAD_DATA_DIR;
  const folders = chooseFolders({ root: ROOT, data, isRoot: process.getuid?.() === 0 });
  const { path, organizations } = await recoverAccount({
    databaseUrl: await requireRunningDatabase(folders, settings),
    email: values.email,
    removeSecondFactors: values['remove-second-factor'],
  });
  const url = values.url ?? settings.FAIRLEAD_PUBLIC_URL ?? defaultOf('FAIRLEAD_PUBLIC_URL');
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
    error instanceof RecoverFailed ||
    error instanceof NotRunning ||
    error instanceof SettingsError ||
    (error instanceof Error && 'code' in error);
  console.error(isExpected ? `fairlead: ${(error as Error).message}` : error);
  process.exit(1);
});
