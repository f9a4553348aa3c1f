// Command line of an installed release: `fairlead start` and the operator's commands. Never used in a clone, which has
// `npm start` and `npm run …`.
import { ROOT } from './lib/command.ts';
import { findRelease } from './lib/release.ts';

const HELP = `Usage: fairlead COMMAND [options]

  start        start the control plane and this machine's agent
  backup       back up the control plane, encrypted
  restore      restore a backup into an empty data folder
  recover      print a one-time link for a locked-out person
  health       check that dashboard and gateway answer
  new-epoch    make every server accept the state of a database that was put back
  update       install a newer release, and go back if it does not start
  uninstall    remove the programs, and keep the data
  master-key   rotate or prune the master key
  version      print the version

fairlead COMMAND --help lists the options of a command.
`;

/** Scripts that read their own options; `backup` and `restore` read their name too. */
const SCRIPTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'warm-up': () => import('./warm-up.ts'),
  health: () => import('./health.ts'),
  'new-epoch': () => import('./new-epoch.ts'),
  recover: () => import('./recover.ts'),
  'master-key': () => import('./master-key.ts'),
};

async function main(): Promise<void> {
  const [command = '', ...args] = process.argv.slice(2);
  const release = findRelease(ROOT);
  if (release === undefined) throw new Error(`${ROOT} holds no release: start a clone with npm start`);
  if (command === 'start') {
    const { startRelease } = await import('./start/installed.ts');
    return startRelease(release, args);
  }
  if (command === 'version' || command === '--version') {
    const kind = release.isDevelopment ? ', a development release' : '';
    console.log(`fairlead ${release.version} (${release.commit.slice(0, 8)}, ${release.target}${kind})`);
    return;
  }
  if (command === 'backup' || command === 'restore') return void (await import('./backup/main.ts'));
  const script = SCRIPTS[command];
  if (script === undefined) {
    process.stdout.write(HELP);
    process.exitCode = ['help', '--help', '-h'].includes(command) ? 0 : 1;
    return;
  }
  process.argv.splice(2, 1);
  await script();
}

main().catch((error: unknown) => {
  console.error(`fairlead: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
