// Selects the files of a local folder to upload, with paths relative to the folder. Pure.

export interface PickedFile {
  readonly path: string;
  readonly file: File;
}

/** Folders that the build recreates, or that have no use on a server. */
const LEFT_OUT_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);
const SECRET_FILE = /^\.env(?:\.|$)/;

export function isLeftOut(path: string): boolean {
  const parts = path.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.slice(0, -1).some((part) => LEFT_OUT_FOLDERS.has(part))) return true;
  return SECRET_FILE.test(name) && name !== '.env.example';
}

/** Strips the folder's own name from the paths. */
export function filesToUpload(files: Iterable<File>): PickedFile[] {
  return [...files]
    .map((file) => ({ path: file.webkitRelativePath.split('/').slice(1).join('/'), file }))
    .filter(({ path }) => path !== '' && !isLeftOut(path))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}
