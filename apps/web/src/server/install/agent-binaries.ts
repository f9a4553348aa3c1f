// Agent programs that this control plane offers to servers, with their digests. Recomputes a digest when the file
// changes, so that the install script always matches the download.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export const agentTargets = ['linux-x64', 'linux-arm64'] as const;
export type AgentTarget = (typeof agentTargets)[number];

export interface AgentBinary {
  readonly target: AgentTarget;
  readonly path: string;
  readonly sizeBytes: number;
  /** Lower-case hexadecimal digest. */
  readonly sha256: string;
  /** Version embedded in the program; empty if there is none. */
  readonly version: string;
  /** Content of the signature file beside the program, in the format of minisign; empty if there is none. */
  readonly signature: string;
}

type ReadBinary = Omit<AgentBinary, 'signature'> & { readonly modifiedMs: number };

export interface AgentBinaries {
  /** Returns null when there is no program for this target. */
  find(target: AgentTarget): Promise<AgentBinary | null>;
  list(): Promise<AgentBinary[]>;
}

export function isAgentTarget(text: string): text is AgentTarget {
  return agentTargets.some((target) => target === text);
}

/**
 * `location` is one program for `ownArch`, or a folder with one program for each target. Without it, nothing is
 * offered.
 */
export function createAgentBinaries(location: string | undefined, ownArch: string): AgentBinaries {
  const known = new Map<string, ReadBinary>();

  async function find(target: AgentTarget): Promise<AgentBinary | null> {
    if (location === undefined) return null;
    const stats = await statOrNull(location);
    if (stats === null) return null;
    if (stats.isFile() && target !== `linux-${ownArch}`) return null;
    const path = stats.isFile() ? location : join(location, target);
    const file = stats.isFile() ? stats : await statOrNull(path);
    if (file === null || !file.isFile()) return null;
    const before = known.get(path);
    const isSame = before !== undefined && before.modifiedMs === file.mtimeMs && before.sizeBytes === file.size;
    const binary = isSame
      ? before
      : { target, path, sizeBytes: file.size, ...(await readBinary(path)), modifiedMs: file.mtimeMs };
    known.set(path, binary);
    return { ...binary, signature: await readSignature(path) };
  }

  return {
    find,
    list: async () => {
      const found = await Promise.all(agentTargets.map(find));
      return found.filter((binary) => binary !== null);
    },
  };
}

/**
 * Version marker that agents/crates/agent/src/main.rs embeds, because a program for another architecture can't be run
 * to ask it.
 */
const versionMark = /fairlead-agent-version=([0-9A-Za-z.+-]{1,60});/;
const markBytesMax = 100;

async function readBinary(path: string): Promise<Pick<AgentBinary, 'sha256' | 'version'>> {
  const hash = createHash('sha256');
  let version = '';
  let end = '';
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (version !== '') continue;
    const text = end + chunk.toString('latin1');
    version = versionMark.exec(text)?.[1] ?? '';
    end = text.slice(-markBytesMax);
  }
  return { sha256: hash.digest('hex'), version };
}

async function readSignature(path: string): Promise<string> {
  const file = `${path}.minisig`;
  return (await statOrNull(file)) === null ? '' : readFile(file, 'utf8');
}

async function statOrNull(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null;
    throw error;
  }
}
