// Finds the files that the control plane's processes load: our sources and the parts of their packages. Web is not among
// them: `next build` does the same for it.
import { readFile } from 'node:fs/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { ROOT } from '../lib/command.ts';

const ENTRIES = [
  'apps/gateway/src/main.ts',
  'apps/worker/src/main.ts',
  'tools/backup/run.ts',
  'tools/fairlead.ts',
  'tools/start/control-socket.ts',
];

interface Tracer {
  nodeFileTrace(
    files: readonly string[],
    options: {
      readonly base: string;
      readonly conditions: readonly string[];
      readonly readFile: (path: string) => Promise<Buffer | string | null>;
    },
  ): Promise<{ readonly fileList: ReadonlySet<string> }>;
}

// Next's copy of @vercel/nft: the package itself installs a program called `nft`, which would hide that of nftables.
const { nodeFileTrace }: Tracer = createRequire(join(ROOT, 'apps/web/package.json'))('next/dist/compiled/@vercel/nft');

let traced: Promise<readonly string[]> | undefined;

/** Returns paths relative to the repository, links to our packages included. A second call waits for the first. */
export function traceFiles(): Promise<readonly string[]> {
  traced ??= traceOnce();
  return traced;
}

async function traceOnce(): Promise<readonly string[]> {
  const { fileList } = await nodeFileTrace(
    ENTRIES.map((entry) => join(ROOT, entry)),
    { base: ROOT, conditions: ['node', 'import'], readFile: readSource },
  );
  return [...fileList].sort();
}

/** Gives the tracer JavaScript: it parses no types. */
async function readSource(path: string): Promise<Buffer | string | null> {
  try {
    const bytes = await readFile(path);
    return path.endsWith('.ts') ? stripTypeScriptTypes(bytes.toString('utf8')) : bytes;
  } catch (error) {
    if (['ENOENT', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
