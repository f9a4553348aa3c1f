// Rules of the procedures that a person can also ask for at GitHub, so that both ways obey the same ones.
import type { CheckRules } from '@fairlead/core/check-action';
import { AppError } from '@fairlead/core/kernel';
import { may, type Permission, type Scope } from '@fairlead/core/role';
import { judge } from './judge.ts';
import { reopensNetwork, retriesReopening } from './network.ts';
import { waitsForApproval } from './protection.ts';
import { allOf, byDeploymentTarget, byEnvironment, byPlacement, seesRelease } from './scopes.ts';

export const redeployRules = { scope: byDeploymentTarget, protection: waitsForApproval };

export const retryRules = { scope: byDeploymentTarget, also: retriesReopening, protection: waitsForApproval };

export const promoteRules = { scope: byEnvironment, also: seesRelease, protection: waitsForApproval };

export const rollbackRules = {
  scope: byPlacement,
  also: allOf(seesRelease, reopensNetwork),
  protection: waitsForApproval,
};

/** Refuses calls that need a fresh session: a click at GitHub proves none. */
export const checkRules: CheckRules = async (core, { rights }, action) => {
  const caller = {
    may: (permission: Permission, scope?: Scope) => may(rights, permission, scope),
    requireFresh: () => Promise.reject(new AppError('github.confirmation_unproven')),
  };
  switch (action.kind) {
    case 'redeploy':
      return judge(core, caller, 'deployment.write', redeployRules, action.input);
    case 'retry':
      return judge(core, caller, 'deployment.write', retryRules, action.input);
    case 'promote':
      return judge(core, caller, 'deployment.write', promoteRules, action.input);
    case 'rollback':
      return judge(core, caller, 'deployment.write', rollbackRules, action.input);
  }
};
