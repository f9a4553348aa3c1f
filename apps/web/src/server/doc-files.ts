// Reads the files of the documentation, which the build copies beside the server.
import 'server-only';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The server and the build run in `apps/web`; the files keep their place in the repository. */
const root = join(process.cwd(), '../..');

export function readDoc(file: string): Promise<string> {
  return readFile(join(root, 'docs', `${file}.md`), 'utf8');
}

export function readChangelog(): Promise<string> {
  return readFile(join(root, 'CHANGELOG.md'), 'utf8');
}
