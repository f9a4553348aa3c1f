// Rules of servers: when one counts as connected, and the command that enrols a new one. Pure.
import type { ServerSort, ServerState, ServerSummary } from './schema.ts';

/** Three missed pings. A gateway that was killed leaves its sessions open in the database; this closes them to the eye. */
export const silenceMaxMs = 70_000;

export interface LinkFacts {
  readonly connectedGateway: string | null;
  readonly lastSeenAt: Date | null;
}

export function isConnected(facts: LinkFacts, now: Date): boolean {
  if (facts.connectedGateway === null || facts.lastSeenAt === null) return false;
  return now.getTime() - facts.lastSeenAt.getTime() <= silenceMaxMs;
}

export function serverState(facts: LinkFacts, now: Date): ServerState {
  if (isConnected(facts, now)) return 'online';
  return facts.lastSeenAt === null ? 'never_connected' : 'offline';
}

const stateOrder: Record<ServerState, number> = { offline: 0, never_connected: 1, online: 2 };

const share = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null || whole === 0 ? null : part / whole;

const sortValues: Record<Exclude<ServerSort, 'name'>, (server: ServerSummary) => number | null> = {
  state: ({ state }) => stateOrder[state],
  cpu: ({ cpuMillis, host }) => share(cpuMillis, host.cpuCount),
  memory: ({ memoryUsedBytes, memoryTotalBytes }) => share(memoryUsedBytes, memoryTotalBytes),
  disk: ({ diskUsedBytes, diskTotalBytes }) => share(diskUsedBytes, diskTotalBytes),
  apps: ({ appCount }) => appCount,
  last_seen: ({ lastSeenAt }) => lastSeenAt?.getTime() ?? null,
};

/** Sorts servers, which come by name. Servers of the same value stay in that order; those without one come last. */
export function sortServers(
  servers: readonly ServerSummary[],
  sort: ServerSort,
  order: 'asc' | 'desc' = sort === 'name' || sort === 'state' ? 'asc' : 'desc',
): ServerSummary[] {
  if (sort === 'name') return order === 'asc' ? [...servers] : servers.toReversed();
  const sign = order === 'asc' ? 1 : -1;
  return servers.toSorted((one, other) => {
    const [a, b] = [sortValues[sort](one), sortValues[sort](other)];
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? 1 : -1;
    return a < b ? -sign : sign;
  });
}

export interface EnrolmentCommandParts {
  /** The script that fetches the agent for the machine it runs on, checks its digest, enrols and starts it. */
  readonly script: {
    readonly url: string;
    readonly sha256: string;
    /** False if the URL's certificate has an authority that the server does not know yet; the script contains it. */
    readonly isTrusted: boolean;
  };
  readonly token: string;
}

const SCRIPT_BYTES_MAX = 1_000_000;

/**
 * One line for a person to paste on the new server. It checks the script before it runs and quotes every part. The
 * token goes through the environment, because every user of the machine can read arguments. The script has its own
 * folder: in the current one, another user could swap it after the check.
 */
export function enrolmentCommand({ script, token }: EnrolmentCommandParts): string {
  return [
    'd=$(mktemp -d)',
    // The digest authenticates the script, so an unknown certificate does no harm.
    `curl -fsSL${script.isTrusted ? '' : 'k'}o "$d/agent.sh" --max-filesize ${SCRIPT_BYTES_MAX} ${quote(script.url)}`,
    `echo ${quote(script.sha256)}" $d/agent.sh" | sha256sum -c -`,
    `FAIRLEAD_ENROL_TOKEN=${quote(token)} sh "$d/agent.sh"`,
  ].join(' && ');
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
