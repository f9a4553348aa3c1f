// `npm run seed -- demo|large`: fills the database of this installation with a scenario. Adds, never changes or deletes,
// but `large --replace`, which ends the organization of an earlier load.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { migrate } from '@fairlead/db/migrate';
import { openSeedDatabase } from './database.ts';
import { SeedError, seedDemo, seedLarge } from './seed.ts';

const help = `Usage: npm run seed -- demo|large [options]

  demo             a small team with a month of history, in the first organization
  large            50 servers, 500 apps, 20,000 deployments and a week of metrics, in an organization of its own
  --owner EMAIL    large: this account becomes its owner; without it an account is made and printed
  --replace        large: delete the organization of an earlier load first
  --data DIR       the data folder of npm start, when it is not the default
  --help           show this

Environment: DATABASE_URL fills that database instead of the embedded one.
`;

const root = fileURLToPath(new URL('../..', import.meta.url));
const note = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

function readArguments(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        replace: { type: 'boolean' },
        owner: { type: 'string' },
        data: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new SeedError(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
  }
}

async function run(words: readonly string[]): Promise<void> {
  const { positionals, values } = readArguments(words);
  const [scenario] = positionals;
  if (values.help === true) return note(help);
  if (positionals.length !== 1 || (scenario !== 'demo' && scenario !== 'large')) throw new SeedError(help);
  const startedAt = performance.now();
  const target = await openSeedDatabase({ root, data: values.data, env: process.env });
  try {
    await migrate({ url: target.url, dir: fileURLToPath(new URL('../migrations', import.meta.url)), log: note });
    const { url, logStoreDir } = target;
    if (scenario === 'demo') await demo(url, logStoreDir);
    else await large(url, { replace: values.replace === true, owner: values.owner ?? null });
    note(`That took ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`);
  } finally {
    await target.close();
  }
}

async function demo(url: string, logStoreDir: string | null): Promise<void> {
  const { organizationName } = await seedDemo({ url, logStoreDir, note });
  note(`The demo is loaded into the organization "${organizationName}".`);
}

async function large(
  url: string,
  options: { readonly replace: boolean; readonly owner: string | null },
): Promise<void> {
  const { organizationName, ownerEmail, ownerPassword } = await seedLarge({ url, ...options, note });
  note(`The organization "${organizationName}" is loaded.`);
  if (ownerPassword === null) note(`${ownerEmail} is its owner.`);
  else note(`Sign in as ${ownerEmail} with the password ${ownerPassword}`);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SeedError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
