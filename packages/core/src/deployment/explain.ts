// Writes the sentence that says why a deployment is not live yet. Pure.
// Invariant: every state that waits has a sentence.
import type { Capability } from '@fairlead/contract/capabilities';
import { missingCapabilityMessage } from '../desired-state/index.ts';
import type { BuildAhead, DeploymentState, Wait } from './schema.ts';

export interface WaitFacts {
  readonly state: DeploymentState;
  readonly approvalPending: boolean;
  /** Checks at GitHub that have not passed yet. */
  readonly pendingChecks: readonly string[];
  /** Number of the running deployment of the same app and environment. */
  readonly behindNumber: number | null;
  /** Builds that get a build slot first; null if it waits for none. */
  readonly queue: BuildQueue | null;
  /** Servers that it needs now and that are not connected. */
  readonly offline: readonly string[];
  /** Capabilities that an agent lacks, with its server. */
  readonly lacking: readonly { readonly serverName: string; readonly capability: Capability }[];
  readonly step: string | null;
  readonly buildServerName: string | null;
  /** Instances on the servers of the rollout. */
  readonly instances: { readonly healthy: number; readonly wanted: number } | null;
  readonly rollingOut: readonly string[];
  readonly live: readonly string[];
  readonly goingBack: readonly string[];
}

export interface BuildQueue {
  /** Also those that the reader may not see. */
  readonly aheadCount: number;
  /** Those that the reader may see, the next one first. */
  readonly ahead: readonly BuildAhead[];
}

/** Maximum number of builds that a sentence names. */
const namedMax = 3;

/** Null when it is over. */
export function explain(facts: WaitFacts): Wait | null {
  const wait = explainState(facts);
  return wait === null ? null : { queue: null, ...wait };
}

type Reason = Pick<Wait, 'reason' | 'sentence'> & Partial<Pick<Wait, 'queue'>>;

function explainState(facts: WaitFacts): Reason | null {
  switch (facts.state) {
    case 'queued':
      return explainQueued(facts);
    case 'building':
      return explainBuilding(facts);
    case 'releasing':
      return (
        offline(facts) ?? {
          reason: 'release_command',
          sentence: 'The release command is running. The new instances start when it succeeds.',
        }
      );
    case 'rolling_out':
      return explainRollout(facts);
    default:
      return null;
  }
}

function explainQueued(facts: WaitFacts): Reason {
  if (facts.approvalPending) {
    return { reason: 'approval', sentence: "Waiting for another member's approval." };
  }
  const { pendingChecks } = facts;
  if (pendingChecks.length > 0) {
    const noun = pendingChecks.length === 1 ? 'check' : 'checks';
    return { reason: 'checks', sentence: `Waiting for the ${noun} ${pendingChecks.join(', ')} on GitHub.` };
  }
  if (facts.behindNumber !== null) {
    return { reason: 'behind', sentence: `Waiting for deployment #${facts.behindNumber}.` };
  }
  return waitsForSlot(facts) ?? offline(facts) ?? lacks(facts) ?? { reason: 'behind', sentence: 'Starting.' };
}

function explainBuilding(facts: WaitFacts): Reason {
  const where = facts.buildServerName === null ? '' : ` on ${facts.buildServerName}`;
  return (
    offline(facts) ??
    waitsForSlot(facts) ?? {
      reason: 'building',
      sentence: facts.step === null ? `Starting the build${where}.` : `Building${where}: ${facts.step}.`,
    }
  );
}

function explainRollout(facts: WaitFacts): Reason {
  if (facts.goingBack.length > 0) {
    return {
      reason: 'going_back',
      sentence: `Failed. Rolling back ${list(facts.goingBack)} to the previous release.`,
    };
  }
  const away = offline(facts);
  if (away !== null) return away;
  if (facts.live.length > 0 && facts.rollingOut.length > 0) {
    return {
      reason: 'other_servers',
      sentence: `Live on ${list(facts.live)}. Rolling out on ${list(facts.rollingOut)}.`,
    };
  }
  if (facts.step === 'canary') {
    return { reason: 'instances', sentence: 'Canary: the new release gets a percentage of the requests first.' };
  }
  const { healthy, wanted } = facts.instances ?? { healthy: 0, wanted: 0 };
  if (wanted > 0 && healthy < wanted) {
    return { reason: 'instances', sentence: `Waiting for health checks (${healthy}/${wanted}).` };
  }
  return {
    reason: 'instances',
    sentence: facts.step === null ? 'Starting the rollout.' : `Rolling out: ${facts.step}.`,
  };
}

function offline({ offline: names }: WaitFacts): Reason | null {
  if (names.length === 0) return null;
  const [verb, it] = names.length === 1 ? ['is', 'its agent'] : ['are', 'their agents'];
  return {
    reason: 'server_offline',
    sentence: `${list(names)} ${verb} not connected. Start ${it}, or check the network.`,
  };
}

function lacks({ lacking }: WaitFacts): Reason | null {
  const [first] = lacking;
  if (first === undefined) return null;
  return {
    reason: 'agent_lacks',
    sentence: missingCapabilityMessage(first.serverName, first.capability),
  };
}

function waitsForSlot({ queue }: WaitFacts): Reason | null {
  if (queue === null) return null;
  const { aheadCount, ahead } = queue;
  const builds = aheadCount === 1 ? '1 build' : `${aheadCount} builds`;
  const named = ahead.slice(0, namedMax).map(({ appName, number }) => `${appName} #${number}`);
  const rest = aheadCount - named.length;
  const names = named.length === 0 || rest === 0 ? named : [...named, `${rest} more`];
  return {
    reason: 'build_slot',
    sentence: names.length === 0 ? `${builds} ahead.` : `${builds} ahead: ${list(names)}.`,
    queue: { aheadCount, ahead: [...ahead] },
  };
}

function list(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
