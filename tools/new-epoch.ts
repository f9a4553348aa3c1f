// `fairlead new-epoch`: makes every server accept the state of a database that was put back outside `fairlead restore`, as
// a failed update does. Never runs beside the control plane, which would not notice.
import { parseArgs } from 'node:util';
import { operatorSettings } from '@fairlead/settings/load';
import { beginEpoch } from './backup/begin-epoch.ts';
import { withDatabase } from './backup/database.ts';
import { ROOT } from './lib/command.ts';
import { chooseFolders } from './start/folders.ts';

const HELP = `Usage: fairlead new-epoch --made-at TIME [--data DIR]

Run it after you put back an earlier state of the database, while Fairlead is stopped. Every server then accepts that state.

  --made-at TIME   time of the state, such as 2026-01-31T08:00:00Z, for the audit log
  --data DIR       the folder that the start was given
`;

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { 'made-at': text, data: text, help: { type: 'boolean', short: 'h' } } });
  const backupMadeAt = new Date(values['made-at'] ?? '');
  if (values.help || Number.isNaN(backupMadeAt.getTime())) {
    process.stdout.write(HELP);
    process.exitCode = values.help ? 0 : 1;
    return;
  }
  const settings = operatorSettings();
  const data = values.data ?? settings.FAIRLEAD_DATA_DIR;
  const folders = chooseFolders({ root: ROOT, data, isRoot: process.getuid?.() === 0 });
  const log = { debug: () => undefined, info: () => undefined, warn: console.error, error: console.error };
  const servers = await withDatabase({ folders, settings }, (databaseUrl) =>
    beginEpoch({ folders, databaseUrl, backupMadeAt, log }),
  );
  console.log(`  ok a new epoch: ${servers} servers will accept this state`);
}

main().catch((error: unknown) => {
  console.error(`fairlead: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
