// Input that starts a run again, under the name of its saved plan while that plan is the same. Pure.
import type { BenchmarkDetail, Inputs, SavedPlan } from '../../api/types.ts';

export type RepeatedRun = Pick<BenchmarkDetail, 'appId' | 'environmentId' | 'plan' | 'planName' | 'servers'>;

/** Sends the saved plan itself, because the API compares it with the stored one. A run's own plan has the host that it used. */
export function repeatInput(run: RepeatedRun, plans: readonly SavedPlan[]): Inputs['benchmark']['create'] {
  const { appId, environmentId, plan } = run;
  const serverIds = loadServerIdsOf(run);
  const shared = { appId, environmentId, ...(serverIds.length === 0 ? {} : { loadServerIds: serverIds }) };
  const saved = plans.find((each) => isSame(each, run));
  return saved === undefined ? { ...shared, plan } : { ...shared, plan: saved.plan, planId: saved.id };
}

function isSame(saved: SavedPlan, run: RepeatedRun): boolean {
  const serverIds = saved.loadServers.map(({ serverId }) => serverId);
  return (
    saved.name === run.planName &&
    saved.environmentId === run.environmentId &&
    canonical(serverIds.toSorted()) === canonical(loadServerIdsOf(run).toSorted()) &&
    canonical({ ...saved.plan, host: saved.plan.host ?? run.plan.host }) === canonical(run.plan)
  );
}

function loadServerIdsOf({ servers }: Pick<RepeatedRun, 'servers'>) {
  return servers.flatMap(({ serverId, role }) => (role === 'load' ? [serverId] : []));
}

/** JSON with sorted keys: the order of keys is no difference. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );
}
