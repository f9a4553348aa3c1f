'use client';
// Filters by an app, an environment, a project or a server, with their names from the API.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../organization/me.tsx';
import { useUrlFilter } from '../page/use-url-state.ts';
import { useProjectFilter } from '../project/project-filter.ts';
import { PROJECT_FILTER } from '../project/project-input.ts';
import { type ActiveFilter, type MenuFilter, useMenuFilter } from './list-filter.ts';
import { idField } from './list-input.ts';

const APPS_OFFERED = 50;

/** Searches apps at the API: there may be more than a menu can hold. */
export function useAppFilter(): MenuFilter {
  const trpc = useTRPC();
  const [opened, setOpened] = useState(false);
  const [search, setSearch] = useState('');
  const { value, set } = useUrlFilter('app');
  const { appId } = idField('appId', 'app', value);
  const found = useQuery({ ...trpc.app.list.queryOptions({ search, limit: APPS_OFFERED }), enabled: opened });
  const chosen = useQuery({
    ...trpc.app.list.queryOptions({ search: appId ?? '', limit: 1 }),
    enabled: appId !== undefined,
  });
  const text = value === '' ? 'All apps' : (chosen.data?.items[0]?.name ?? 'Unknown app');
  return {
    kind: 'menu',
    name: 'app',
    label: 'App',
    all: 'All apps',
    value,
    text: chosen.isPending && appId !== undefined ? '…' : text,
    options: (found.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name })),
    set,
    onOpen: () => {
      setOpened(true);
      setSearch('');
    },
    onSearch: setSearch,
  };
}

/** Null while there is one environment only. */
export function useEnvironmentFilter(): MenuFilter | null {
  const environments = useQuery(useTRPC().environment.list.queryOptions()).data?.items ?? [];
  const isOneProject = new Set(environments.map(({ projectId }) => projectId)).size === 1;
  const filter = useMenuFilter('environment', {
    label: 'Environment',
    all: 'All environments',
    unknown: 'Unknown environment',
    options: environments.map(({ id, name, projectName }) => ({
      value: id,
      label: name,
      ...(isOneProject ? {} : { hint: projectName }),
    })),
  });
  return environments.length < 2 && filter.value === '' ? null : filter;
}

/** Null for readers who may not see servers, and while there is one server only. */
export function useServerFilter(): MenuFilter | null {
  const { can } = useMe();
  const mayRead = can('server.read');
  const servers = useQuery({ ...useTRPC().server.list.queryOptions(), enabled: mayRead }).data?.items ?? [];
  const filter = useMenuFilter('server', {
    label: 'Server',
    all: 'All servers',
    unknown: 'Unknown server',
    options: servers.map(({ id, name }) => ({ value: id, label: name })),
  });
  return !mayRead || (servers.length < 2 && filter.value === '') ? null : filter;
}

/** Returns the project that the switcher beside the title has chosen. */
export function useChosenProject(): ActiveFilter[] {
  const { projectId } = useProjectFilter().input;
  const projects = useQuery(useTRPC().project.list.queryOptions()).data?.items ?? [];
  if (projectId === undefined) return [];
  const text = projects.find(({ id }) => id === projectId)?.name ?? 'Unknown project';
  return [{ name: PROJECT_FILTER, label: 'Project', text }];
}
