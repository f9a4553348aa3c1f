// Prepares a proxy measurement: Fairlead's own binaries and the certificate that all peers share.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';

/** Returns the release builds: builds them, or with `built` uses the existing ones. */
export function binaries(built: boolean): { agent: string; stand: string; inject: string } {
  const release = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'agents/target'), 'release');
  const example = (name: string) => join(release, 'examples', name);
  const found = { agent: join(release, 'fairlead-agent'), stand: example('stand'), inject: example('inject') };
  if (built) return found;
  // Builds all together, so that shared crates compile once.
  const examples = ['-p', 'fairlead-proxy', '--example', 'stand', '-p', 'fairlead-bench', '--example', 'inject'];
  const wanted = ['-p', 'fairlead-agent', '--bin', 'fairlead-agent', ...examples];
  // The folder agents pins the toolchain.
  const cwd = join(ROOT, 'agents');
  execFileSync('cargo', ['build', '--release', ...wanted], { cwd, stdio: 'inherit' });
  return found;
}

function pem(kind: string, der: Buffer): string {
  const base64 = der.toString('base64').replace(/(.{64})/g, '$1\n');
  return `-----BEGIN ${kind}-----\n${base64.trimEnd()}\n-----END ${kind}-----\n`;
}

/** Writes the shared certificate in the format of each peer. */
export function makeCertificate(stand: string, folder: string): void {
  mkdirSync(folder);
  execFileSync(stand, ['certificate', folder]);
  const leaf = pem('CERTIFICATE', readFileSync(join(folder, 'leaf.der')));
  const key = pem('PRIVATE KEY', readFileSync(join(folder, 'leaf-key.der')));
  writeFileSync(join(folder, 'leaf.pem'), leaf);
  writeFileSync(join(folder, 'leaf-key.pem'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'both.pem'), leaf + key, { mode: 0o600 });
}
