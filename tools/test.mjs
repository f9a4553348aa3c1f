#!/usr/bin/env node
// `npm test`, first half: installs from the lock file with the system's Node, and hands over to tools/test/main.ts on
// the lock file's Node.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkPrograms, handOver, installDependencies, SetupError, startCargo } from './lib/install.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

async function main() {
  await checkPrograms({ rust: true });
  // Lints while it compiles: a clippy of its own would read every foreign crate a second time.
  process.env.RUSTC_WORKSPACE_WRAPPER = 'clippy-driver';
  // A single stage may need no agent.
  if (process.argv.length === 2) startCargo(root, ['test', '--workspace', '--no-run']);
  await installDependencies(root, { report: () => console.log('installing npm dependencies from the lock file') });
  handOver(root, 'tools/test/main.ts', process.argv.slice(2));
}

main().catch((error) => {
  console.error(error instanceof SetupError ? `fairlead: ${error.message}` : error);
  console.log('0 passed, 1 failed');
  process.exit(1);
});
