'use client';
// The stream of a page that shows the whole organization. Who may see parts of it only has no such stream: their lists are
// read again whenever they come back to the page.
import type { ReactNode } from 'react';
import { LivePage } from '../api/live.tsx';
import { useMe } from './me.tsx';

const NEEDED = ['app.read', 'metric.read', 'server.read'] as const;

export function OrganizationLive({ children }: { readonly children: ReactNode }) {
  const { organization, can } = useMe();
  const seesAll = NEEDED.every((permission) => can(permission));
  return <LivePage topics={seesAll ? [{ kind: 'organization', id: organization.id }] : []}>{children}</LivePage>;
}
