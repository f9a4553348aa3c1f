// Prepares a proxy measurement: Fairlead's own binaries and the certificate that all peers share.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';

/** Returns the release builds: builds them, or with `built` uses the existing ones. */
export function binaries(built: boolean): { agent: string; stand: string; inject: string } {
  const release = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'agents/target'), 'release');
  const example = (name: string) => join(release, 'examples', name);
  const found = { agent: join(release, 'fairlead-agent'), stand: example('stand'), inject: example('inject') };
  if (built) return found;
  // Builds all together, so that shared crates compile once.
  const examples = ['-p', 'fairlead-lab', '--example', 'stand', '-p', 'fairlead-bench', '--example', 'inject'];
  const wanted = ['-p', 'fairlead-agent', '--bin', 'fairlead-agent', ...examples];
  // The folder agents pins the toolchain.
  const cwd = join(ROOT, 'agents');
  execFileSync('cargo', ['build', '--release', ...wanted], { cwd, stdio: 'inherit' });
  return found;
}

/** Writes the shared certificate in the format of each peer. */
export function makeCertificate(stand: string, folder: string): void {
  mkdirSync(folder);
  execFileSync(stand, ['certificate', folder]);
}
