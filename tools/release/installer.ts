// Renders the installer of a release: one file that holds the public key and the program that verifies signatures.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lib/command.ts';
import { ReleaseFailed } from './targets.ts';

/** Name beside the other files of a release. */
export const INSTALLER = 'install.sh';

const SOURCES = 'tools/install';
const UNITS = ['fairlead.service', 'fairlead-apps.service'];

export function renderInstaller(publicKey: string): string {
  if (!/^[A-Za-z0-9+/]{56}$/.test(publicKey)) throw new ReleaseFailed('the public key is not one of minisign');
  const verifier = readFileSync(join(ROOT, SOURCES, 'ed25519.pl'), 'utf8').trimEnd();
  const script = readFileSync(join(ROOT, SOURCES, INSTALLER), 'utf8');
  return script.replace('@ED25519@', () => verifier).replace('@PUBLIC_KEY@', publicKey);
}

/** Writes the installer and the units into the folder of a control plane, for updates and repairs. */
export function writeInstaller(stage: string, publicKey: string): void {
  const folder = join(stage, SOURCES);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, INSTALLER), renderInstaller(publicKey));
  chmodSync(join(folder, INSTALLER), 0o755);
  for (const unit of UNITS) copyFileSync(join(ROOT, SOURCES, unit), join(folder, unit));
}
