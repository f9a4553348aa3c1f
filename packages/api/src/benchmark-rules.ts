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
    'with the scenario `deploy` or `wake`, or a copy of the release: `deployment.write` in that environment, and what `deployment.restart` needs; with ' +
    '`route-change` or `proxy-upgrade`: `server.write` in the organization; with requests that may change data: ' +
    '`deployment.write` in that environment',
  permissions: ['deployment.write', 'server.write'],
  denials: ['release.network_closed'],
  reads: ['appId', 'environmentId', 'plan'],
  find: async (core, input) => {
    const { scenario } = input.plan;
    const startsInstances = scenario === 'deploy' || scenario === 'wake' || copiesRelease(input.plan);
    const [place] = await byPlacement.find(core, input);
    const deploys = { anyOf: ['deployment.write'], scope: place ?? null } as const;
    return [
      ...(proxyScenarios.includes(scenario) ? [{ anyOf: ['server.write'], scope: null } as const] : []),
      // Deployed code can change all data of the app, so the permission to deploy covers such requests.
      ...(startsInstances || mayChangeData(input.plan) ? [deploys] : []),
      ...(startsInstances ? await keepsNetworkOpen.find(core, input) : []),
    ];
  },
};

export const createBenchmarkRules = {
  scope: byPlacement,
  also: scenarioNeeds,
  protection: approver<CreateBenchmarkInput>(
    'in that environment; with `route-change` or `proxy-upgrade`, in each environment that has an app on its servers',
    async (core, input) => {
      const placement = await findPlacement(core, input);
      if (placement === null) return [];
      const { environmentId, servers } = placement;
      if (!proxyScenarios.includes(input.plan.scenario)) return [environmentId];
      const others = await Promise.all(servers.map(({ serverId }) => environmentsOnServers(core, { serverId })));
      return [environmentId, ...others.flat()];
    },
  ),
};
