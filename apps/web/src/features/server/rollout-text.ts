// Sentences about the upgrade of all agents. Pure.
import type { Formats } from '@fairlead/ui/formats';
import type { AgentRollout, AvailableRollout } from '../../api/types.ts';

type LeftOut = AvailableRollout['leftOut'][number];

/** Names that a sentence shows; it counts the others. */
const NAMES_MAX = 6;

const list = new Intl.ListFormat('en', { type: 'conjunction' });

export function nameList(servers: readonly { readonly name: string }[]): string {
  const names = servers.map(({ name }) => name);
  if (names.length <= NAMES_MAX) return list.format(names);
  return list.format([...names.slice(0, NAMES_MAX - 1), `${names.length - NAMES_MAX + 1} more`]);
}

export function waveSentence({ wave, waveCount, servers }: AgentRollout, { plural }: Formats): string {
  if (wave === 0) return 'The first upgrade starts within seconds.';
  const current = servers.filter((server) => server.wave === wave);
  const upgraded = current.filter(({ progress }) => progress === 'upgraded').length;
  return `Wave ${wave} of ${waveCount}: ${upgraded} of ${plural(current.length, 'server')} upgraded.`;
}

export function stopSentence({ failedServer, reason, servers }: AgentRollout, { plural }: Formats): string {
  const upgraded = servers.filter(({ progress }) => progress === 'upgraded').length;
  const cause = `${failedServer === null ? '' : `${failedServer}: `}${reason ?? ''}`;
  return `${cause} ${plural(upgraded, 'server')} of ${servers.length} upgraded; no further upgrade starts.`;
}

export function skipSentence({ leftOut }: Pick<AgentRollout, 'leftOut'>): string {
  const allOffline = leftOut.length > 0 && leftOut.every(({ reason }) => reason === 'offline');
  return allOffline ? 'No server was reachable.' : 'No server could be upgraded.';
}

const reasons: Readonly<Record<LeftOut['reason'], string>> = {
  offline: 'offline',
  unsupported: 'its agent is too old to be upgraded from here',
  no_program: 'no agent for this architecture',
  current: 'already upgraded',
};

/** Null: none is left out. */
export function leftOutSentence(leftOut: readonly LeftOut[]): string | null {
  if (leftOut.length === 0) return null;
  const groups = Map.groupBy(leftOut, ({ reason }) => reason);
  const parts = [...groups].map(([reason, servers]) => `${nameList(servers)} (${reasons[reason]})`);
  return `Left out: ${parts.join('; ')}.`;
}

/** Explains a wave of the plan. */
export function waveLabel(position: number, count: number): string {
  if (position === 0) return count === 1 ? 'The only wave' : 'One server first';
  return position === count - 1 ? 'The rest' : 'A quarter of the servers';
}
