// Notes of a release: the file by which installed control planes learn of it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileNames } from './targets.ts';

export interface ReleaseNotes {
  readonly version: string;
  readonly releasedAt: Date;
  /** Changes in Markdown. */
  readonly changelog: string;
}

export function writeNotes(to: string, notes: ReleaseNotes): void {
  writeFileSync(join(to, fileNames.notes(notes.version)), `${JSON.stringify(notes, null, 2)}\n`);
}

/** Returns the changes of a version from a file in the format of Keep a Changelog; before its release, the unreleased ones. */
export function changesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m);
  const find = (name: string) => sections.find((section) => section.startsWith(`[${name}]`));
  const section = find(version) ?? find('Unreleased') ?? '';
  return section.slice(section.indexOf('\n') + 1).trim();
}
