// Derives an app's status from its facts. Pure: no database, clock or network.
import { firstFreeSlug } from '../kernel/text.ts';
import type { AppStatus } from './schema.ts';

/** Copies on one server: the wanted ones, and those that work or would work once they are woken. */
export interface Copies {
  readonly wanted: number;
  readonly working: number;
}

export interface AppFacts {
  hasLiveRelease: boolean;
  serverConnected: boolean;
  lastDeploymentState: string | null;
  /** Copies of the live release, one entry for each server that has it. */
  copies: readonly Copies[];
}

/**
 * Returns the status that a list shows. An unreachable server comes before everything else, because no other fact is
 * then certain.
 */
export function appStatus(facts: AppFacts): AppStatus {
  const underWay = ['queued', 'building', 'releasing', 'rolling_out'].includes(facts.lastDeploymentState ?? '');
  if (!facts.serverConnected && (facts.hasLiveRelease || underWay)) return 'server_offline';
  if (underWay) return 'deploying';
  if (!facts.hasLiveRelease) return facts.lastDeploymentState === 'failed' ? 'failed' : 'not_deployed';
  return facts.copies.every(({ working, wanted }) => working >= wanted) ? 'healthy' : 'unhealthy';
}

/** Paths of the dashboard that an app of that name would hide behind. */
const reservedSlugs: ReadonlySet<string> = new Set(['new']);

/** Returns "shop", or "shop-2" when another app or page has it. */
export function pickSlug(wanted: string, taken: ReadonlySet<string>): string {
  return firstFreeSlug(wanted, new Set([...taken, ...reservedSlugs]));
}
