// Memory and CPU of processes, read from /proc. PSS counts a page that several processes share once, split among them.
import { readdirSync, readFileSync } from 'node:fs';

/** `getconf CLK_TCK` is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

export function pssBytes(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024;
}

export function cpuSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
}

/** Returns the process and its descendants. */
export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    const parent = fieldOf(pid, PARENT);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const tree: number[] = [];
  for (const queue = [root]; queue.length > 0; ) {
    const pid = queue.shift();
    if (pid === undefined) break;
    tree.push(pid);
    queue.push(...(children.get(pid) ?? []));
  }
  return tree;
}

/** Returns the processes of the leader's session that are no descendants of the leader any more. */
export function orphansOf(leader: number): number[] {
  const tree = new Set(treeOf(leader));
  const all = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return all.filter((pid) => !tree.has(pid) && fieldOf(pid, SESSION) === leader);
}

const PARENT = 1;
const SESSION = 3;

/** Returns a number of `statFields`; undefined if the process ended meanwhile. */
function fieldOf(pid: number, index: number): number | undefined {
  try {
    return Number(statFields(pid)[index]);
  } catch {
    return undefined;
  }
}

/** Fields from the state on; the name before it may contain any character. */
function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
