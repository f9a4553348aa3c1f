// Parses a git server's ref advertisement. Source: git's documentation, gitprotocol-http(5), "Smart server response",
// and gitprotocol-common(5), "pkt-line format". Foreign bytes: bounded and never trusted.
import type { SourceBranches } from './schema.ts';

const service = '# service=git-upload-pack';
const branchPrefix = 'refs/heads/';
const branchesMax = 1000;

/** Null when the bytes are no advertisement of a git server. */
export function parseRefs(bytes: Uint8Array): SourceBranches | null {
  const lines = readLines(bytes);
  if (lines === null || lines[0] !== service) return null;
  const [first = '', ...rest] = lines.slice(1);
  const [head = '', capabilities = ''] = first.split('\0');
  const names = [head, ...rest].flatMap((line) => {
    const name = line.slice(line.indexOf(' ') + 1);
    return name.startsWith(branchPrefix) ? [name.slice(branchPrefix.length)] : [];
  });
  const symref = /(?:^| )symref=HEAD:refs\/heads\/(\S+)/.exec(capabilities)?.[1];
  return {
    branches: names.slice(0, branchesMax),
    defaultBranch: symref !== undefined && names.includes(symref) ? symref : null,
  };
}

/** Returns lines without their line feed; null at the first with a wrong length. */
function readLines(bytes: Uint8Array): string[] | null {
  const text = Buffer.from(bytes);
  const lines: string[] = [];
  for (let at = 0; at < text.length; ) {
    const prefix = text.toString('latin1', at, at + 4);
    if (!/^[0-9a-f]{4}$/.test(prefix)) return null;
    const length = Number.parseInt(prefix, 16);
    if (length === 0) {
      at += 4;
      continue;
    }
    if (length < 4 || at + length > text.length) return null;
    lines.push(text.toString('utf8', at + 4, at + length).replace(/\n$/, ''));
    at += length;
  }
  return lines;
}
