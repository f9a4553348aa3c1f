// Renders the installer of a release: one file that holds the public keys and the program that verifies signatures.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lib/command.ts';

/** Name beside the other files of a release. */
export const INSTALLER = 'install.sh';

const SOURCES = 'tools/install';
const UNITS = ['fairlead.service', 'fairlead-apps.service', 'fairlead-update.service', 'fairlead-update.path'];

export function renderInstaller(publicKeys: readonly string[]): string {
  const verifier = readFileSync(join(ROOT, SOURCES, 'ed25519.pl'), 'utf8').trimEnd();
  const script = readFileSync(join(ROOT, SOURCES, INSTALLER), 'utf8');
  return script.replace('@ED25519@', () => verifier).replace('@PUBLIC_KEYS@', publicKeys.join(' '));
}

/** Writes the installer and the units into the folder of a control plane, for updates and repairs. */
export function writeInstaller(stage: string, publicKeys: readonly string[]): void {
  const folder = join(stage, SOURCES);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, INSTALLER), renderInstaller(publicKeys));
  chmodSync(join(folder, INSTALLER), 0o755);
  for (const unit of UNITS) copyFileSync(join(ROOT, SOURCES, unit), join(folder, unit));
}
