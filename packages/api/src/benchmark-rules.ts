// Rules for starting a benchmark, and for saving and scheduling its plan. Scenarios that act on an app or on its server need
// what the same action needs elsewhere.
import type { CreateBenchmarkInput } from '@fairlead/core/benchmark';
import { copiesRelease, mayChangeData } from '@fairlead/core/benchmark/load';
import type {
  CreatePlanInput,
  PauseScheduleInput,
  SavedPlanRef,
  UpdatePlanInput,
  UpdateScheduleInput,
} from '@fairlead/core/benchmark-plan';
import type { OrganizationCtx } from '@fairlead/core/kernel';
import { findPlacement } from '@fairlead/core/placement';
import { keepsNetworkOpen } from './network.ts';
import { approver, environmentsOnServers, open } from './protection.ts';
import { type AlsoNeeds, byBenchmarkPlan, byPlacement, type NeedElsewhere } from './scopes.ts';

/** Scenarios that act on the proxy of all apps of a server. */
const proxyScenarios: readonly CreateBenchmarkInput['plan']['scenario'][] = ['route-change', 'proxy-upgrade'];

const scenarioNeeds: AlsoNeeds<CreateBenchmarkInput> = {
  words:
    'with the scenario `deploy` or `wake`, or a copy of the live release: `deployment.write` in that environment, and what ' +
    '`deployment.restart` needs; with `route-change` or `proxy-upgrade`: `server.write` in the organization; with load ' +
    'servers: `benchmark.write` in the organization; with requests that may change data: `deployment.write` in that ' +
    'environment',
  permissions: ['deployment.write', 'server.write', 'benchmark.write'],
  denials: ['release.network_closed'],
  reads: ['appId', 'environmentId', 'plan', 'loadServerIds'],
  find: async (core, input) => {
    const { scenario } = input.plan;
    const startsInstances = scenario === 'deploy' || scenario === 'wake' || copiesRelease(input.plan);
    const [place] = await byPlacement.find(core, input);
    const deploys = { anyOf: ['deployment.write'], scope: place ?? null } as const;
    return [
      ...loadServerNeeds(input.loadServerIds ?? []),
      ...(proxyScenarios.includes(scenario) ? [{ anyOf: ['server.write'], scope: null } as const] : []),
      // Deployed code can change all data of the app, so the permission to deploy covers such requests.
      ...(startsInstances || mayChangeData(input.plan) ? [deploys] : []),
      ...(startsInstances ? await keepsNetworkOpen.find(core, input) : []),
    ];
  },
};

/** Returns what load servers need: load takes cores and network from all apps of a server, which belongs to the organization. */
function loadServerNeeds(loadServerIds: readonly string[]): NeedElsewhere[] {
  return loadServerIds.length === 0 ? [] : [{ anyOf: ['benchmark.write'], scope: null }];
}

async function environmentsOnEach(core: OrganizationCtx, serverIds: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const serverId of serverIds) found.push(...(await environmentsOnServers(core, { serverId })));
  return found;
}

export const createBenchmarkRules = {
  scope: byPlacement,
  also: scenarioNeeds,
  protection: approver<CreateBenchmarkInput>(
    'in that environment; with `route-change` or `proxy-upgrade`, in each environment that has an app on its servers; with load ' +
      'servers, in each environment that has an app on one of them',
    async (core, input) => {
      const placement = await findPlacement(core, input);
      if (placement === null) return [];
      const { environmentId, servers } = placement;
      const shared = proxyScenarios.includes(input.plan.scenario) ? servers.map(({ serverId }) => serverId) : [];
      return [environmentId, ...(await environmentsOnEach(core, [...shared, ...(input.loadServerIds ?? [])]))];
    },
  ),
};

export const createPlanRules = {
  scope: byPlacement,
  also: {
    words: 'with load servers: `benchmark.write` in the organization',
    permissions: ['benchmark.write'],
    reads: ['loadServerIds'],
    find: async (_, { loadServerIds }) => loadServerNeeds(loadServerIds ?? []),
  } satisfies AlsoNeeds<CreatePlanInput>,
  protection: open('a saved plan sends no request'),
};

interface PlanChange<Input> {
  readonly words: string;
  readonly reads: readonly (keyof Input & string)[];
  /** Ids of the load servers for which the change needs permissions; undefined: those of the saved plan. */
  readonly loadServerIdsOf: (input: Input) => readonly string[] | undefined;
}

/** Rules for a change of a saved plan. Its schedule runs the plan without another check of permissions. */
function planChangeRules<Input extends SavedPlanRef>({ words, reads, loadServerIdsOf }: PlanChange<Input>) {
  const serverIdsOf = async (core: OrganizationCtx, input: Input): Promise<readonly string[]> =>
    loadServerIdsOf(input) ?? (await findLoadServerIds(core, input));
  return {
    scope: byBenchmarkPlan,
    also: {
      words: `${words}: \`benchmark.write\` in the organization`,
      permissions: ['benchmark.write'],
      reads,
      find: async (core, input) => loadServerNeeds(await serverIdsOf(core, input)),
    } satisfies AlsoNeeds<Input>,
    protection: approver<Input>(
      `in that environment; ${words}, in each environment that has an app on one of them`,
      async (core, input) => {
        const scopes = await byBenchmarkPlan.find(core, input);
        const own = scopes.flatMap(({ environmentId }) => environmentId ?? []);
        return [...own, ...(await environmentsOnEach(core, await serverIdsOf(core, input)))];
      },
    ),
  };
}

export const updatePlanRules = planChangeRules<UpdatePlanInput>({
  words: 'if the plan has load servers, or gets some',
  reads: ['planId', 'loadServerIds'],
  loadServerIdsOf: ({ loadServerIds }) => loadServerIds,
});

const scheduleWords = 'to set or resume the schedule of a plan with load servers';

export const updateScheduleRules = planChangeRules<UpdateScheduleInput>({
  words: scheduleWords,
  reads: ['planId'],
  loadServerIdsOf: ({ schedule }) => (schedule === null ? [] : undefined),
});

export const pauseScheduleRules = planChangeRules<PauseScheduleInput>({
  words: scheduleWords,
  reads: ['planId'],
  loadServerIdsOf: ({ paused }) => (paused ? [] : undefined),
});

async function findLoadServerIds({ tx, organizationId }: OrganizationCtx, { planId }: SavedPlanRef): Promise<string[]> {
  const plan = await tx.benchmarkPlan.findFirst({
    where: { id: planId, organizationId },
    select: { loadServerIds: true },
  });
  return plan?.loadServerIds ?? [];
}
