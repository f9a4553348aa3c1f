// Packs templates of new apps: folders of `examples/`.
// Invariant: the same files give the same bytes, so an organization stores a template once.
import { openAsBlob } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type TemplateId, templateFolder } from '@fairlead/core/template';
import { packTarGz, type TarEntry } from '../common/app/tar.ts';

/** `examples`: folder of all examples. */
export function createTemplatePacker(examples: string): (template: TemplateId) => AsyncIterable<Uint8Array> {
  return async function* (template) {
    yield* packTarGz(await readEntries(join(examples, templateFolder(template))));
  };
}

async function readEntries(folder: string): Promise<TarEntry[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(
    paths.sort().map(async (path) => ({
      path: relative(folder, path),
      file: await openAsBlob(path),
      mode: ((await stat(path)).mode & 0o111) === 0 ? 0o644 : 0o755,
    })),
  );
}
