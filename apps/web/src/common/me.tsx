'use client';
// Who is looking, in which organization, and what they may do. Hiding a button is a courtesy; the API decides.
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import type { Me } from '../api/types.ts';
import { type Paths, pathsOf } from './paths.ts';

type Organization = Me['organizations'][number];
export type Permission = Organization['permissions'][number];

export interface MeView {
  readonly user: Me['user'];
  readonly organization: Organization;
  readonly organizations: readonly Organization[];
  readonly paths: Paths;
  /** Without a place: in the whole organization. */
  readonly can: (permission: Permission, place?: Place) => boolean;
}

/** Where something happens; an environment alone will do, when nothing is granted in its project. */
export interface Place {
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
  const view = useMemo<MeView>(
    () => ({
      user: me.user,
      organization,
      organizations: me.organizations,
      paths: pathsOf(organization.slug),
      can: (permission, place = {}) =>
        organization.permissions.includes(permission) ||
        organization.granted.some(
          ({ permissions, projectId, environmentId }) =>
            permissions.includes(permission) &&
            (environmentId === null ? projectId === place.projectId : environmentId === place.environmentId),
        ),
    }),
    [me, organization],
  );
  return <MeContext value={view}>{children}</MeContext>;
}

export interface MePlaceProps {
  readonly place: Place;
  /** Deployments wait for approval here; other changes need the right to approve them. */
  readonly isProtected?: boolean;
  readonly children: ReactNode;
}

const changesBesideDeployments: ReadonlySet<Permission> = new Set([
  'app.write',
  'app.delete',
  'benchmark.write',
  'domain.write',
  'environment.write',
  'secret.write',
]);

/** Sets the default scope for permission checks below it. */
export function MePlace({ place: { projectId, environmentId }, isProtected = false, children }: MePlaceProps) {
  const me = useMe();
  const view = useMemo<MeView>(() => {
    const here: Place = {
      ...(projectId === undefined ? {} : { projectId }),
      ...(environmentId === undefined ? {} : { environmentId }),
    };
    const mayChange = !isProtected || me.can('deployment.approve', here);
    return {
      ...me,
      can: (permission, place = here) =>
        (mayChange || !changesBesideDeployments.has(permission)) && me.can(permission, place),
    };
  }, [me, projectId, environmentId, isProtected]);
  return <MeContext value={view}>{children}</MeContext>;
}

export function useMe(): MeView {
  const me = useContext(MeContext);
  if (me === null) throw new Error('useMe needs a MeProvider above it');
  return me;
}
