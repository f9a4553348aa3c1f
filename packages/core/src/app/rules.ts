// Derives an app's status from its facts. Pure: no database, clock or network.
import { firstFreeSlug } from '../kernel/text.ts';
import type { AppSort, AppStatus } from './schema.ts';

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

/** Values by which a list sorts; an app without recent requests has no figures. */
export interface SortableApp {
  readonly id: string;
  readonly name: string;
  readonly deployedAt: Date | null;
  readonly requestsPerSecond?: number;
  readonly errorsPerSecond?: number;
  readonly p99Ms?: number | null;
}

const sortValues: Record<Exclude<AppSort, 'name'>, (app: SortableApp) => number | null> = {
  last_deployment: ({ deployedAt }) => deployedAt?.getTime() ?? null,
  requests: ({ requestsPerSecond = 0 }) => requestsPerSecond,
  errors: ({ errorsPerSecond = 0 }) => errorsPerSecond,
  p99: ({ p99Ms = null }) => p99Ms,
};

/** Sorts apps, which come by name. Apps of the same value stay in that order; those without one come last. */
export function sortApps<App extends SortableApp>(
  apps: readonly App[],
  sort: AppSort,
  order: 'asc' | 'desc' = sort === 'name' ? 'asc' : 'desc',
): App[] {
  if (sort === 'name') return order === 'asc' ? [...apps] : apps.toReversed();
  const sign = order === 'asc' ? 1 : -1;
  return apps.toSorted((one, other) => {
    const [a, b] = [sortValues[sort](one), sortValues[sort](other)];
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? 1 : -1;
    return a < b ? -sign : sign;
  });
}

/** Paths of the dashboard that an app of that name would hide behind. */
const reservedSlugs: ReadonlySet<string> = new Set(['new']);

/** Returns "shop", or "shop-2" when another app or page has it. */
export function pickSlug(wanted: string, taken: ReadonlySet<string>): string {
  return firstFreeSlug(wanted, new Set([...taken, ...reservedSlugs]));
}
