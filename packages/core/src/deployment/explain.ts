// Writes the sentence that says why a deployment is not live yet. Pure.
// Invariant: every state that waits has a sentence.
import type { Capability } from '@fairlead/contract/capabilities';
import { missingCapabilityMessage } from '../desired-state/index.ts';
import type { DeploymentState, Wait } from './schema.ts';

export interface WaitFacts {
  readonly state: DeploymentState;
  readonly approvalPending: boolean;
  /** Number of the running deployment of the same app and environment. */
  readonly behindNumber: number | null;
  /** Running builds that use all build slots, and the owner of those slots. */
  readonly slot: { readonly builds: number; readonly of: 'server' | 'organization' } | null;
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

/** Null when it is over. */
export function explain(facts: WaitFacts): Wait | null {
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

function explainQueued(facts: WaitFacts): Wait {
  if (facts.approvalPending) {
    return { reason: 'approval', sentence: 'It waits until another member approves it.' };
  }
  if (facts.behindNumber !== null) {
    return { reason: 'behind', sentence: `It waits for deployment #${facts.behindNumber}, which is running.` };
  }
  if (facts.slot !== null) {
    const { builds, of } = facts.slot;
    const where = of === 'server' ? 'on its server' : 'in this organization';
    return {
      reason: 'build_slot',
      sentence: `All build slots are in use: ${count(builds, 'build is', 'builds are')} running ${where}.`,
    };
  }
  return offline(facts) ?? lacks(facts) ?? { reason: 'behind', sentence: 'It is about to begin.' };
}

function explainBuilding(facts: WaitFacts): Wait {
  const where = facts.buildServerName === null ? '' : ` on ${facts.buildServerName}`;
  return (
    offline(facts) ?? {
      reason: 'building',
      sentence:
        facts.step === null ? `The build${where} is about to begin.` : `It is being built${where}: ${facts.step}.`,
    }
  );
}

function explainRollout(facts: WaitFacts): Wait {
  if (facts.goingBack.length > 0) {
    return {
      reason: 'going_back',
      sentence: `It failed. Rolling back ${list(facts.goingBack)} to the previous release.`,
    };
  }
  const away = offline(facts);
  if (away !== null) return away;
  if (facts.live.length > 0 && facts.rollingOut.length > 0) {
    return {
      reason: 'other_servers',
      sentence: `It is live on ${list(facts.live)} and being rolled out on ${list(facts.rollingOut)}.`,
    };
  }
  if (facts.step === 'canary') {
    return { reason: 'instances', sentence: 'Canary: the new release gets a percentage of the requests first.' };
  }
  const { healthy, wanted } = facts.instances ?? { healthy: 0, wanted: 0 };
  if (wanted > 0 && healthy < wanted) {
    return { reason: 'instances', sentence: `It waits until its instances are healthy: ${healthy} of ${wanted} are.` };
  }
  return {
    reason: 'instances',
    sentence: facts.step === null ? 'The rollout is about to begin.' : `It is being rolled out: ${facts.step}.`,
  };
}

function offline({ offline: names }: WaitFacts): Wait | null {
  if (names.length === 0) return null;
  const [verb, it] = names.length === 1 ? ['is', 'its agent'] : ['are', 'their agents'];
  return {
    reason: 'server_offline',
    sentence: `${list(names)} ${verb} not connected. Start ${it}, or check the network.`,
  };
}

function lacks({ lacking }: WaitFacts): Wait | null {
  const [first] = lacking;
  if (first === undefined) return null;
  return {
    reason: 'agent_lacks',
    sentence: missingCapabilityMessage(first.serverName, first.capability),
  };
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

function list(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
