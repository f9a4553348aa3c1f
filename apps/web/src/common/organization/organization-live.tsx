'use client';
// Live stream of a page that shows the whole organization. Readers with access to parts of it get no such stream; their
// lists refetch when they return to the page.
import type { ReactNode } from 'react';
import { LivePage } from '../../api/live.tsx';
import { useMe } from './me.tsx';

const NEEDED = ['app.read', 'metric.read', 'server.read'] as const;

export function OrganizationLive({ children }: { readonly children: ReactNode }) {
  const { organization, can } = useMe();
  const seesAll = NEEDED.every((permission) => can(permission));
  return <LivePage topics={seesAll ? [{ kind: 'organization', id: organization.id }] : []}>{children}</LivePage>;
}
