// Releases for the install check: repacked from a built one under other versions, and signed with its key, which its agents pin.
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RELEASE_FILE, type Release } from '../../tools/lib/release.ts';
import { INSTALLER, renderInstaller, writeInstaller } from '../../tools/release/installer.ts';
import { writeNotes } from '../../tools/release/notes.ts';
import { openSigner, pinnedKeys, type Signer, signFile, signRelease } from '../../tools/release/sign.ts';
import { fileNames, type Target } from '../../tools/release/targets.ts';
import { must } from '../release/root.ts';

export interface RepackOptions {
  /** Archive of a control plane. */
  readonly archive: string;
  readonly target: Target;
  readonly to: string;
  readonly version: string;
  readonly signer: Signer;
  /** Changes the unpacked files. */
  readonly change?: (stage: string, target: Target) => void;
}

/** Takes the key pair of a development release, or the key that FAIRLEAD_RELEASE_KEY_FILE names. */
export function signerOf(dist: string, scratch: string): Signer {
  const keys = join(scratch, 'keys');
  mkdirSync(keys, { mode: 0o700 });
  for (const name of ['development.key', 'minisign.pub'])
    if (existsSync(join(dist, name))) cpSync(join(dist, name), join(keys, name));
  return openSigner(keys);
}

export async function repack({ archive, target, to, version, signer, change }: RepackOptions): Promise<void> {
  const stage = `${to}.stage`;
  mkdirSync(stage, { recursive: true });
  mkdirSync(to, { recursive: true });
  await must('tar', ['-xzf', archive, '-C', stage, '--strip-components=1', '--no-same-owner']);
  const release = JSON.parse(readFileSync(join(stage, RELEASE_FILE), 'utf8')) as Release;
  writeFileSync(join(stage, RELEASE_FILE), JSON.stringify({ ...release, version }));
  writeInstaller(stage, pinnedKeys(signer));
  change?.(stage, target);
  const name = fileNames.agent(version, target);
  signFile(signer, join(stage, 'agents', target.name), `fairlead ${version} ${name}`);
  await must('tar', [
    '--create',
    '--use-compress-program=gzip -1',
    '--file',
    join(to, fileNames.controlPlane(version, target)),
    '-C',
    join(stage, '..'),
    stage.slice(stage.lastIndexOf('/') + 1),
  ]);
  rmSync(stage, { recursive: true });
  writeNotes(to, { version, releasedAt: new Date(), changelog: `### Added\n\n- Changes of ${version}.` });
  writeFileSync(join(to, INSTALLER), renderInstaller(pinnedKeys(signer)));
  signRelease(to, version, signer);
}

/** Adds a migration and breaks the web server after it: the update fails once the database has changed. */
export function breakAfterMigration(stage: string, target: Target): void {
  changeAgent(stage, target);
  const folder = join(stage, 'prisma/migrations/20991231000000_install_check');
  mkdirSync(folder, { recursive: true });
  // Fairlead starts on no database with a table that lacks row-level security.
  const sql = `CREATE TABLE install_check (id integer PRIMARY KEY);
ALTER TABLE install_check ENABLE ROW LEVEL SECURITY;
ALTER TABLE install_check FORCE ROW LEVEL SECURITY;
`;
  writeFileSync(join(folder, 'migration.sql'), sql);
  writeFileSync(join(stage, 'apps/web/.next/standalone/apps/web/server.js'), 'throw new Error("broken on purpose");\n');
}

/** Makes another file of the same agent, which servers are offered as an upgrade. */
export function changeAgent(stage: string, { name }: Target): void {
  appendFileSync(join(stage, 'agents', name), 'x');
}
