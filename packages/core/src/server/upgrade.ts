// Rules of upgrades: the offered agent, the requested one, and when an upgrade counts as lost. Pure.
import { supports } from '@fairlead/contract/capabilities';
import { errorTable } from '@fairlead/contract/errors';
import { type AgentOffer, type AgentTarget, hostInfoSchema, storedUpgradeSchema, type UpgradeView } from './schema.ts';

/** Time limit of an upgrade, which waits for the server's builds and rollouts; after this it counts as ended. */
const silenceMaxMs = 60 * 60_000;

const targets: Readonly<Record<string, AgentTarget>> = { x86_64: 'linux-x64', aarch64: 'linux-arm64' };

/** Agent that a member requested, as the desired state names it. */
export interface WantedAgent {
  readonly version: string;
  readonly digest: string;
  readonly sizeBytes: number;
  /** Signature file in the format of minisign; empty: unsigned. */
  readonly signature: string;
  readonly attempt: number;
}

interface AgentFacts {
  readonly hostInfo: unknown;
  readonly agentDigest: string | null;
  readonly capabilities: readonly string[];
}

/** Null: there is no agent for this kind of machine. */
export function agentOfferFor(server: Pick<AgentFacts, 'hostInfo'>, offers: readonly AgentOffer[]): AgentOffer | null {
  const target = targets[hostInfoSchema.parse(server.hostInfo).arch];
  return offers.find((offer) => offer.target === target) ?? null;
}

/**
 * Returns the offered agent if it is another program than the running one. An agent that sends no digest counts as
 * another one.
 */
export function otherAgentFor(
  server: AgentFacts,
  offers: readonly AgentOffer[],
): Pick<AgentOffer, 'version' | 'digest'> | null {
  const offer = agentOfferFor(server, offers);
  if (offer === null || offer.digest === server.agentDigest) return null;
  // It has just connected, and its first report is on its way.
  if (server.agentDigest === null && supports(server.capabilities, 'upgrade')) return null;
  return { version: offer.version, digest: offer.digest };
}

/** Returns the time before which a running upgrade's request counts as lost. */
export function lostBefore(now: Date): Date {
  return new Date(now.getTime() - silenceMaxMs);
}

export function upgradeView(stored: unknown, now: Date): UpgradeView | null {
  if (stored === null) return null;
  const upgrade = storedUpgradeSchema.parse(stored);
  const isLost = upgrade.state === 'running' && upgrade.requestedAt < lostBefore(now);
  if (!isLost) return upgrade;
  const code = 'upgrade.lost';
  return { ...upgrade, state: 'failed', failureCode: code, failureMessage: errorTable[code].message };
}

/**
 * Returns the requested agent while its upgrade runs. One request is one attempt, so that a manual installation
 * afterwards stays.
 */
export function wantedAgent(stored: unknown, now: Date): WantedAgent | null {
  const upgrade = upgradeView(stored, now);
  if (upgrade?.state !== 'running') return null;
  const { version, digest, sizeBytes, signature, attempt } = upgrade;
  return { version, digest, sizeBytes, signature, attempt };
}
