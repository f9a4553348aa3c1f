// State machine of an agent rollout: one server first, then a quarter, then the rest. Pure.
import type { AgentOffer, UpgradeView } from '../server/schema.ts';
import type { LeftOutReason, ServerProgress } from './schema.ts';

/** Time that an upgraded server of the current wave may be disconnected before the rollout stops. */
export const absenceMaxMs = 10 * 60_000;

export interface RolloutServer {
  readonly id: string;
  readonly name: string;
  /** The control plane's own server, which belongs to the last wave. */
  readonly isLocal: boolean;
  readonly appCount: number;
  /** Wave that it belongs to; null until that wave starts. */
  readonly wave: number | null;
  /** Attempt of its upgrade that the rollout requested; null until then. */
  readonly attempt: number | null;
  readonly leftOut: LeftOutReason | null;
  readonly isConnected: boolean;
  /** Reason why an upgrade can't be requested now; null if it can. */
  readonly obstacle: LeftOutReason | null;
  /** Program for its kind of machine; null if there is none. */
  readonly offer: AgentOffer | null;
  /** The last upgrade of the server, which may have been requested on its page. */
  readonly upgrade: UpgradeView | null;
}

export interface Rollout {
  readonly wave: number;
  readonly waveStartedAt: Date | null;
}

export type RolloutStep =
  | { readonly kind: 'wait' }
  /** Requests the upgrades of the servers, which belong to that wave, and skips others. */
  | {
      readonly kind: 'upgrade';
      readonly wave: number;
      readonly servers: readonly RolloutServer[];
      readonly leftOut: readonly RolloutServer[];
    }
  | { readonly kind: 'stop'; readonly server: RolloutServer; readonly reason: string }
  /** `skip`: no server runs the offered program. */
  | { readonly kind: 'succeed' | 'skip'; readonly leftOut: readonly RolloutServer[] };

const obstacleSentences: Readonly<Record<Exclude<LeftOutReason, 'current'>, string>> = {
  offline: 'The server is not connected.',
  unsupported: 'The agent of this server is too old to be upgraded from here.',
  no_program: 'This control plane has no agent for this kind of machine.',
};

export function step(rollout: Rollout, servers: readonly RolloutServer[], now: Date): RolloutStep {
  const taking = servers.filter(({ leftOut }) => leftOut === null);
  const current = taking.filter(({ wave }) => wave !== null && wave === rollout.wave);
  for (const server of current) {
    const reason = failureOf(server);
    if (reason !== null) return { kind: 'stop', server, reason };
  }
  const waiting = current.filter((server) => progressOf(server) === 'waiting');
  if (waiting.length > 0) return { kind: 'upgrade', wave: rollout.wave, servers: waiting, leftOut: [] };
  if (current.some((server) => progressOf(server) === 'upgrading')) return { kind: 'wait' };
  const absent = current.find(({ isConnected }) => !isConnected);
  if (absent !== undefined) {
    if (now.getTime() - doneAt(rollout, absent) <= absenceMaxMs) return { kind: 'wait' };
    return { kind: 'stop', server: absent, reason: 'The server has not been connected since its upgrade.' };
  }
  const open = taking.filter(({ wave }) => wave === null);
  const leftOut = open.filter(({ obstacle }) => obstacle !== null);
  const next = nextWave(taking.filter((server) => server.wave !== null || server.obstacle === null));
  if (next.length === 0) return { kind: servers.some(isUpgraded) ? 'succeed' : 'skip', leftOut };
  return { kind: 'upgrade', wave: rollout.wave + 1, servers: next, leftOut };
}

/** Returns the servers of each wave to come. */
export function planWaves(servers: readonly RolloutServer[]): RolloutServer[][] {
  const waves: RolloutServer[][] = [];
  let planned = [...servers];
  for (let wave = 1; ; wave += 1) {
    const next = nextWave(planned);
    if (next.length === 0) return waves;
    waves.push(next);
    // A number that no started wave has.
    planned = planned.map((server) => (next.includes(server) ? { ...server, wave: -wave } : server));
  }
}

/** Progress of a server that the rollout doesn't skip. */
export function progressOf(server: RolloutServer): ServerProgress {
  const { attempt, obstacle, upgrade } = server;
  if (server.wave === null) return 'waiting';
  if (upgrade?.state === 'running') return 'upgrading';
  if (obstacle === 'current') return 'upgraded';
  // Upgrades of the server's page count too, once the rollout has requested its own.
  if (attempt === null || upgrade === null || upgrade.attempt < attempt) return 'waiting';
  return upgrade.state === 'succeeded' ? 'upgraded' : 'failed';
}

/** Also true if it was upgraded from its page before the rollout came to it. */
function isUpgraded(server: RolloutServer): boolean {
  return server.obstacle === 'current' || (server.wave !== null && progressOf(server) === 'upgraded');
}

function failureOf(server: RolloutServer): string | null {
  const progress = progressOf(server);
  if (progress === 'failed') return server.upgrade?.failureMessage ?? 'The upgrade failed.';
  if (progress !== 'waiting' || server.obstacle === null || server.obstacle === 'current') return null;
  return obstacleSentences[server.obstacle];
}

function doneAt({ waveStartedAt }: Rollout, { upgrade }: RolloutServer): number {
  return Math.max(upgrade?.finishedAt?.getTime() ?? 0, waveStartedAt?.getTime() ?? 0);
}

/** Takes servers without a wave: one, then a quarter of all, then the rest. Fewer apps go first. */
function nextWave(servers: readonly RolloutServer[]): RolloutServer[] {
  const open = servers.filter(({ wave }) => wave === null).sort(byRisk);
  const remote = open.filter(({ isLocal }) => !isLocal);
  if (remote.length === 0) return open;
  const former = new Set(servers.flatMap(({ wave }) => wave ?? [])).size;
  if (former === 0) return remote.slice(0, 1);
  if (former === 1) return remote.slice(0, Math.max(1, Math.floor(servers.length / 4)));
  return open;
}

function byRisk(a: RolloutServer, b: RolloutServer): number {
  return a.appCount - b.appCount || (a.name < b.name ? -1 : 1);
}
