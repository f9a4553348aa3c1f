// Fails when a picture in docs/images is older than the page it shows by more than a release. Needs no git history: the
// manifest that `npm run screenshot` writes has a hash of the page's sources.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from '../lib/command.ts';
import { hashFiles } from '../lib/inputs-hash.ts';
import { PICTURES, readPictures } from '../lib/pictures.ts';

/** Number of later releases after which a picture of a changed page is too old. */
const RELEASES_MAX = 1;
const DOCUMENTS = ['*.md', 'docs/**/*.md'];
const RELEASE = /^## \[(\d+\.\d+\.\d+)\]/gm;
const REMEDY = 'run npm run screenshot';

export function checkPictures(root: string): string[] {
  const recorded = readPictures(root);
  const pictures = globSync(`${PICTURES}/*.png`, { cwd: root }).map((path) => basename(path));
  const documents = globSync(DOCUMENTS, { cwd: root }).map((path) => readFileSync(join(root, path), 'utf8'));
  const releases = [...readFileSync(join(root, 'CHANGELOG.md'), 'utf8').matchAll(RELEASE)].map(([, name = '']) => name);
  return [
    ...pictures
      .filter((name) => recorded[name] === undefined)
      .map((name) => `${PICTURES}/${name} is not recorded: ${REMEDY}`),
    ...pictures
      .filter((name) => !documents.some((text) => text.includes(`images/${name}`)))
      .map((name) => `${PICTURES}/${name} is in no document: remove it`),
    ...Object.entries(recorded).flatMap(([name, { version, sources, sourcesHash }]) => {
      const at = `${PICTURES}/${name}`;
      if (!pictures.includes(name)) return [`${at} is recorded but does not exist: ${REMEDY}`];
      const gone = sources.filter((glob) => globSync(glob, { cwd: root }).length === 0);
      if (gone.length > 0)
        return [`${at} shows ${gone.join(', ')}, which no longer exists: name the page's new sources`];
      const later = releases.filter((release) => isLater(release, version)).length;
      if (later <= RELEASES_MAX || hashFiles(root, sources) === sourcesHash) return [];
      return [`${at} shows version ${version}; its page has changed in ${later} releases since: ${REMEDY}`];
    }),
  ];
}

function isLater(release: string, version: string): boolean {
  return release.localeCompare(version, 'en', { numeric: true }) > 0;
}

if (import.meta.main) {
  const findings = checkPictures(ROOT);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
