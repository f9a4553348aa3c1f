// Rules of starting a benchmark. Scenarios that act on an app or on its server need what the same action needs elsewhere.
import type { CreateBenchmarkInput } from '@fairlead/core/benchmark';
import { copiesRelease, mayChangeData } from '@fairlead/core/benchmark/load';
import { findPlacement } from '@fairlead/core/placement';
import { keepsNetworkOpen } from './network.ts';
import { approver, environmentsOnServers } from './protection.ts';
import { type AlsoNeeds, byPlacement } from './scopes.ts';

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
      // Load takes cores and network from all apps of a server, which belongs to the organization.
      ...(loadsServers(input) ? [{ anyOf: ['benchmark.write'], scope: null } as const] : []),
      ...(proxyScenarios.includes(scenario) ? [{ anyOf: ['server.write'], scope: null } as const] : []),
      // Deployed code can change all data of the app, so the permission to deploy covers such requests.
      ...(startsInstances || mayChangeData(input.plan) ? [deploys] : []),
      ...(startsInstances ? await keepsNetworkOpen.find(core, input) : []),
    ];
  },
};

function loadsServers({ loadServerIds }: CreateBenchmarkInput): boolean {
  return (loadServerIds?.length ?? 0) > 0;
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
      const found: string[] = [environmentId];
      for (const serverId of [...shared, ...(input.loadServerIds ?? [])]) {
        found.push(...(await environmentsOnServers(core, { serverId })));
      }
      return found;
    },
  ),
};
