// What a measurement of proxies begins with: Fairlead's own binaries and the one certificate of all.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';

/** The release builds: made, or with `built` those that are there. */
export function binaries(built: boolean): { agent: string; stand: string } {
  const release = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'agents/target'), 'release');
  const found = { agent: join(release, 'fairlead-agent'), stand: join(release, 'examples/stand') };
  if (built) return found;
  // Together: what both are made of is built once.
  const wanted = ['-p', 'fairlead-agent', '--bin', 'fairlead-agent', '-p', 'fairlead-proxy', '--example', 'stand'];
  // There the toolchain is pinned.
  const cwd = join(ROOT, 'agents');
  execFileSync('cargo', ['build', '--release', ...wanted], { cwd, stdio: 'inherit' });
  return found;
}

function pem(kind: string, der: Buffer): string {
  const base64 = der.toString('base64').replace(/(.{64})/g, '$1\n');
  return `-----BEGIN ${kind}-----\n${base64.trimEnd()}\n-----END ${kind}-----\n`;
}

/** The one certificate of all, as each of them wants to read it. */
export function makeCertificate(stand: string, folder: string): void {
  mkdirSync(folder);
  execFileSync(stand, ['certificate', folder]);
  const leaf = pem('CERTIFICATE', readFileSync(join(folder, 'leaf.der')));
  const key = pem('PRIVATE KEY', readFileSync(join(folder, 'leaf-key.der')));
  writeFileSync(join(folder, 'leaf.pem'), leaf);
  writeFileSync(join(folder, 'leaf-key.pem'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'both.pem'), leaf + key, { mode: 0o600 });
}
