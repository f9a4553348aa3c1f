#!/usr/bin/env node
// `npm run backup` and `npm run restore`, first half: needs only the system's Node, so that an empty machine can be
// restored with one command.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkPrograms, handOver, installDependencies, SetupError } from './lib/install.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

async function main() {
  await checkPrograms({ rust: false });
  await installDependencies(root, { report: () => console.log('  …  npm dependencies, from the lock file') });
  handOver(root, 'tools/backup/main.ts', process.argv.slice(2));
}

main().catch((error) => {
  console.error(error instanceof SetupError ? `fairlead: ${error.message}` : error);
  process.exit(1);
});
