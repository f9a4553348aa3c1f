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
  readonly can: (permission: Permission) => boolean;
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
      can: (permission) => organization.permissions.includes(permission),
    }),
    [me, organization],
  );
  return <MeContext value={view}>{children}</MeContext>;
}

export function useMe(): MeView {
  const me = useContext(MeContext);
  if (me === null) throw new Error('useMe needs a MeProvider above it');
  return me;
}
