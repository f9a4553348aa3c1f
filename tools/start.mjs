#!/usr/bin/env node
// `npm start`, first half: reads options, checks programs, and installs from the lock file. Then hands over to
// tools/start/main.ts on the lock file's Node.
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkPrograms, handOver, installDependencies, likeTests, SetupError, startCargo } from './lib/install.mjs';
import { HELP, OptionsError, parseOptions } from './start/options.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const startedAt = Date.now();
const DISK_FREE_MIN_BYTES = 3 * 1024 ** 3;

async function main() {
  const args = process.argv.slice(2);
  const options = parseOptions(args, { root, cwd: process.env.INIT_CWD ?? process.cwd() });
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  await checkPrograms({ rust: options.agent === undefined });
  const { bavail, bsize } = statfsSync(root);
  if (bavail * bsize < DISK_FREE_MIN_BYTES) {
    const free = ((bavail * bsize) / 1024 ** 3).toFixed(1);
    throw new SetupError(`the disk of ${root} has ${free} GB free, and building needs 3 GB: make room first`);
  }
  if (options.agent === undefined) startCargo(root, ['build', ...likeTests('--bin', 'fairlead-agent')]);
  await install();
  process.env.FAIRLEAD_STARTED_MS = String(startedAt);
  // The process mostly waits, so low memory matters more than fast garbage collection.
  handOver(root, 'tools/start/main.ts', args, ['--max-semi-space-size=2']);
}

async function install() {
  const elapsed = () => `${((Date.now() - startedAt) / 1000).toFixed(0)} s`;
  let timer;
  try {
    const { installed } = await installDependencies(root, {
      report: () => {
        console.log('  …  npm dependencies, from the lock file');
        timer = setInterval(() => console.log(`  …  npm dependencies, ${elapsed()}`), 15_000);
      },
    });
    if (installed) console.log(`  ok npm dependencies, ${elapsed()}`);
  } finally {
    clearInterval(timer);
  }
}

main().catch((error) => {
  const expected = error instanceof SetupError || error instanceof OptionsError;
  console.error(expected ? `fairlead: ${error.message}` : error);
  process.exit(1);
});
