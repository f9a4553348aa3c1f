// Permissions and protection of app.create and app.addEnvironment: each part of the input needs those of its own procedure.
import { type AddEnvironmentInput, type CreateAppInput, settingsOf } from '@fairlead/core/app';
import type { OrganizationCtx } from '@fairlead/core/kernel';
import type { Permission, Scope } from '@fairlead/core/role';
import { opensAnotherEnvironment, opensNewApp } from './network.ts';
import { approver, environmentsOfHost } from './protection.ts';
import {
  type AlsoNeeds,
  allOf,
  findEnvironment,
  findPlacement,
  findScopeOfNewApp,
  type NeedElsewhere,
  scopeOf,
  seesRelease,
} from './scopes.ts';

function need(permission: Permission, scope: Scope | null, isPresent: boolean): NeedElsewhere[] {
  return isPresent ? [{ anyOf: [permission], scope }] : [];
}

/** `app.write` is needed in the organization. It covers settings and every server. */
export const partsOfNewApp: AlsoNeeds<CreateAppInput> = allOf<CreateAppInput>(opensNewApp, {
  words:
    "in the app's environment: `deployment.write` to deploy, `domain.write` for a domain and `secret.write` for secrets; " +
    '`secret.write` in the project and a fresh session for a credential',
  permissions: ['deployment.write', 'domain.write', 'secret.write'],
  reads: ['environmentId', 'firstDeploy', 'domain', 'secrets', 'credential'],
  find: async (core, { environmentId, firstDeploy, domain, secrets, credential }) => {
    const scope = await findScopeOfNewApp(core, environmentId);
    if (scope === null) return [];
    const project = { projectId: scope.projectId, environmentId: null };
    return [
      ...need('deployment.write', scope, firstDeploy !== 'none'),
      ...need('domain.write', scope, domain !== undefined),
      ...need('secret.write', scope, secrets !== undefined),
      ...(credential === undefined ? [] : [{ anyOf: ['secret.write'] as const, scope: project, fresh: true as const }]),
    ];
  },
});

/** A new app has no visitors until it is deployed, which waits for approval. */
export const approverOfNewApp = approver<CreateAppInput>(
  'with a domain, settings, an image, secrets, a credential or several servers: in that environment; with a domain, also in ' +
    'each environment where its host leads to',
  async (core, input) => {
    const { domain, secrets, credential, serverIds } = input;
    const isPlain = Object.keys(settingsOf(input)).length === 0 && serverIds.length === 1;
    if (isPlain && domain === undefined && secrets === undefined && credential === undefined) return [];
    const scope = await findScopeOfNewApp(core, input.environmentId);
    return scope === null ? [] : [scope.environmentId, ...(await hostsOf(core, domain))];
  },
);

type Target = Pick<AddEnvironmentInput, 'appId' | 'environment'>;

/** Returns the target environment and the primary one, which provides settings and source. */
export const byAddedEnvironment = scopeOf<Target>('environment', ['appId', 'environment'], async (core, input) => {
  const [primary, target] = [await findPlacement(core, { id: input.appId }), await findTarget(core, input)];
  return primary === null || target === null ? null : [target, primary];
});

/** A new environment belongs to the app's project: only grants there or in the whole organization cover it. */
async function findTarget(core: OrganizationCtx, { appId, environment }: Target): Promise<Scope | null> {
  if (environment.kind === 'existing') return findEnvironment(core, environment);
  const primary = await findPlacement(core, { id: appId });
  return primary === null ? null : { ...primary, environmentId: null };
}

export const partsOfAddedEnvironment: AlsoNeeds<AddEnvironmentInput> = allOf<AddEnvironmentInput>(
  opensAnotherEnvironment,
  {
    words:
      '`environment.write` in the organization for a new environment, and `deployment.approve` in the project if it is ' +
      '`protected`; in that environment, `deployment.write` to deploy and `domain.write` for a domain; to promote, ' +
      seesRelease.words,
    permissions: ['environment.write', 'deployment.approve', 'deployment.write', 'domain.write'],
    denials: ['environment.protected'],
    reads: ['appId', 'environment', 'firstDeploy', 'domain'],
    find: async (core, input) => {
      const { environment, firstDeploy, domain } = input;
      const target = await findTarget(core, input);
      const isNew = environment.kind === 'new';
      return [
        ...need('environment.write', null, isNew),
        ...(isNew && environment.protected
          ? [{ anyOf: ['deployment.approve'] as const, scope: target, denied: 'environment.protected' as const }]
          : []),
        ...need('deployment.write', target, firstDeploy !== 'none'),
        ...need('domain.write', target, domain !== undefined),
        ...(typeof firstDeploy === 'object' ? await seesRelease.find(core, firstDeploy) : []),
      ];
    },
  },
);

export const approverOfAddedEnvironment = approver<AddEnvironmentInput>(
  'in that environment; with a domain, also in each environment where its host leads to',
  async (core, { environment, domain }) => [
    ...(environment.kind === 'existing' ? [environment.environmentId] : []),
    ...(await hostsOf(core, domain)),
  ],
);

async function hostsOf(core: OrganizationCtx, domain: { readonly host: string } | undefined): Promise<string[]> {
  return domain === undefined ? [] : environmentsOfHost(core, domain.host);
}
