// Finds the processes with a listening socket on a port, from /proc.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LISTEN = '0A';

export function pidsListeningOn(port: number): number[] {
  const inodes = new Set(listeningInodes(port).map((inode) => `socket:[${inode}]`));
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => openFiles(pid).some((file) => inodes.has(file)));
}

function listeningInodes(port: number): string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) =>
    readFileSync(table, 'utf8')
      .split('\n')
      .slice(1)
      .map((row) => row.trim().split(/\s+/))
      .filter((fields) => fields[1]?.endsWith(wanted) && fields[3] === LISTEN)
      .map((fields) => fields[9] ?? ''),
  );
}

function openFiles(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((descriptor) => readlinkSync(`/proc/${pid}/fd/${descriptor}`));
  } catch {
    return []; // the process is gone, or another user owns it
  }
}
