// Owns the pure rules of servers: when one counts as connected, and the line that enrols a new one.
import type { ServerState } from './schema.ts';

/** Three missed pings. A gateway that was killed leaves its sessions open in the database; this closes them to the eye. */
const silenceMaxMs = 70_000;

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

export interface EnrolmentCommandParts {
  readonly agentUrl: string;
  readonly download: { readonly url: string; readonly sha256: string };
  readonly token: string;
}

const dataDir = '"$HOME/fairlead"';

/**
 * One line for a person to paste on the new server: fetch, check the digest, enrol, run. Every part is quoted, and the
 * token goes through the environment because arguments are readable by every user of the machine.
 */
export function enrolmentCommand({ agentUrl, download, token }: EnrolmentCommandParts): string {
  const agent = `${dataDir}/fairlead-agent`;
  return [
    `mkdir -p ${dataDir}`,
    `curl -fsSL ${quote(download.url)} -o ${agent}`,
    `echo ${quote(download.sha256)} ${agent} | sha256sum -c -`,
    `chmod +x ${agent}`,
    `FAIRLEAD_ENROL_TOKEN=${quote(token)} ${agent} enrol --control ${quote(agentUrl)} --data ${dataDir}/data`,
    `${agent} run --data ${dataDir}/data`,
  ].join(' && ');
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
