'use client';
// Current user, organization and permissions. Hiding a button is a courtesy; the API decides.
import { may, mayAnywhere, rightsOf, wholeOrganization } from '@fairlead/core/role/rights';
import { ViewerProvider } from '@fairlead/ui/formats';
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import type { Me } from '../../api/types.ts';
import { type Paths, pathsOf } from './paths.ts';

type Organization = Me['organizations'][number];
export type Permission = Organization['permissions'][number];

export interface MeView {
  readonly user: Me['user'];
  readonly organization: Organization;
  readonly organizations: readonly Organization[];
  readonly paths: Paths;
  /** True if the person operates this control plane, in this organization. */
  readonly isOperator: boolean;
  /** True if the permission is granted in the scope; without a scope, in the whole organization. */
  readonly can: (permission: Permission, scope?: PermissionScope) => boolean;
  /** Same as `can`, whatever the protection of the page's environment: for a call that changes another one. */
  readonly isGranted: (permission: Permission, scope: PermissionScope) => boolean;
  /** True if the permission is granted in any scope, as lists need it. */
  readonly canAnywhere: (permission: Permission) => boolean;
}

/** Scope of a permission check. An environment alone is enough when nothing is granted on its project. */
export interface PermissionScope {
  readonly projectId?: string;
  readonly environmentId?: string;
}

const MeContext = createContext<MeView | null>(null);

export interface MeProviderProps {
  readonly me: Me;
  readonly organization: Organization;
  readonly children: ReactNode;
}

export function MeProvider({ me, organization, children }: MeProviderProps) {
  const view = useMemo<MeView>(() => {
    const { role, permissions, granted } = organization;
    const rights = rightsOf(role, [{ ...wholeOrganization, permissions }, ...granted]);
    const isGranted: MeView['can'] = (permission, { projectId = null, environmentId = null } = {}) =>
      may(rights, permission, { projectId, environmentId });
    return {
      user: me.user,
      organization,
      organizations: me.organizations,
      paths: pathsOf(organization.slug),
      isOperator: me.operatedOrganizationId === organization.id,
      can: isGranted,
      isGranted,
      canAnywhere: (permission) => mayAnywhere(rights, permission),
    };
  }, [me, organization]);
  const { locale, timeZone } = me.user;
  return (
    <MeContext value={view}>
      <ViewerProvider locale={locale} timeZone={timeZone}>
        {children}
      </ViewerProvider>
    </MeContext>
  );
}

export interface MeScopeProps {
  readonly scope: PermissionScope;
  /** True if deployments here wait for approval; other changes then need the permission to approve. */
  readonly isProtected?: boolean;
  readonly children: ReactNode;
}

const changesBesideDeployments: ReadonlySet<Permission> = new Set([
  'app.write',
  'app.delete',
  'benchmark.write',
  'domain.write',
  'environment.write',
  'project.write',
  'secret.write',
]);

/** Sets the default scope for permission checks below it. */
export function MeScope({ scope: { projectId, environmentId }, isProtected = false, children }: MeScopeProps) {
  const me = useMe();
  const view = useMemo<MeView>(() => {
    const here: PermissionScope = {
      ...(projectId === undefined ? {} : { projectId }),
      ...(environmentId === undefined ? {} : { environmentId }),
    };
    const mayChange = !isProtected || me.can('deployment.approve', here);
    return {
      ...me,
      can: (permission, scope = here) =>
        (mayChange || !changesBesideDeployments.has(permission)) && me.can(permission, scope),
    };
  }, [me, projectId, environmentId, isProtected]);
  return <MeContext value={view}>{children}</MeContext>;
}

export function useMe(): MeView {
  const me = useContext(MeContext);
  if (me === null) throw new Error('useMe needs a MeProvider above it');
  return me;
}
