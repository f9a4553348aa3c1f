'use client';
// Command palette (Cmd+K): runs actions and opens pages. Fetches apps and servers when it opens.
import { CommandDialog, CommandGroup, CommandItem } from '@fairlead/ui/command';
import { Kbd } from '@fairlead/ui/kbd';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { ChartSpline, LogOut, Moon, Play, Plus, Server, SquareStack, Sun } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useDeferredValue, useState } from 'react';
import { useTRPC } from '../api/trpc.tsx';
import { useAction } from '../common/form/use-action.ts';
import { useSignOut } from '../common/identity/use-sign-out.ts';
import { useMe } from '../common/organization/me.tsx';
import { useTheme } from '../common/theme/use-theme.ts';
import type { NavItem } from './navigation.ts';

export interface PaletteProps {
  readonly open: boolean;
  readonly items: readonly NavItem[];
  readonly onClose: () => void;
}

const APPS_SHOWN = 8;

export function Palette({ open, items, onClose }: PaletteProps) {
  const { paths, can } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const signOut = useSignOut();
  const { isDark, setTheme } = useTheme();
  const [query, setQuery] = useState('');
  const search = useDeferredValue(query.trim()).slice(0, 100);
  // Keeps the previous apps while it fetches. Otherwise it would select the next best command and keep it.
  const apps = useQuery({
    ...trpc.app.list.queryOptions({ search, limit: APPS_SHOWN }),
    enabled: open,
    placeholderData: keepPreviousData,
  });
  const servers = useQuery({ ...trpc.server.list.queryOptions(), enabled: open });
  const deploy = useAction(
    useMutation(trpc.deployment.create.mutationOptions()),
    "The app wasn't deployed",
    (created) => {
      router.push(paths.deployment(created.deploymentId));
    },
  );

  const close = () => {
    setQuery('');
    onClose();
  };
  const go = (href: string) => () => {
    close();
    router.push(href);
  };
  const run = (what: () => void) => () => {
    close();
    what();
  };

  return (
    <CommandDialog
      open={open}
      onClose={close}
      query={query}
      onQueryChange={setQuery}
      placeholder="Search or run a command…"
    >
      <CommandGroup heading="Go to">
        {items.map((item) => (
          <CommandItem
            key={item.href}
            value={`go ${item.title}`}
            keywords={[item.title]}
            icon={<item.icon size={15} />}
            hint={
              <>
                <Kbd>g</Kbd>
                <Kbd>{item.key}</Kbd>
              </>
            }
            onSelect={go(item.href)}
          >
            {item.title}
          </CommandItem>
        ))}
      </CommandGroup>
      {(apps.data?.items.length ?? 0) > 0 ? (
        <CommandGroup heading="Apps">
          {apps.data?.items.map((app) => (
            <CommandItem
              key={app.id}
              value={`app ${app.slug}`}
              keywords={[app.name]}
              icon={<SquareStack size={15} />}
              hint={app.serverName}
              onSelect={go(paths.app(app.slug))}
            >
              {app.name}
            </CommandItem>
          ))}
        </CommandGroup>
      ) : null}
      {(servers.data?.items.length ?? 0) > 0 ? (
        <CommandGroup heading="Servers">
          {servers.data?.items.slice(0, search === '' ? 5 : undefined).map((server) => (
            <CommandItem
              key={server.id}
              value={`server ${server.name}`}
              keywords={[server.name]}
              icon={<Server size={15} />}
              onSelect={go(paths.server(server.id))}
            >
              {server.name}
            </CommandItem>
          ))}
        </CommandGroup>
      ) : null}
      {/* Actions come after pages, so that Enter after a name opens its page. */}
      <CommandGroup heading="Actions">
        {can('deployment.write')
          ? (apps.data?.items ?? []).slice(0, search === '' ? 3 : APPS_SHOWN).map((app) => (
              <CommandItem
                key={`deploy ${app.id}`}
                value={`deploy ${app.slug} ${app.name}`}
                icon={<Play size={15} />}
                hint={app.branch || 'default branch'}
                onSelect={run(() => deploy.run({ appId: app.id }))}
              >
                Deploy {app.name}
              </CommandItem>
            ))
          : null}
        {can('app.write') ? (
          <CommandItem value="new app create" icon={<Plus size={15} />} onSelect={go(paths.newApp)}>
            New app
          </CommandItem>
        ) : null}
        {can('server.enrol') ? (
          <CommandItem value="add server enrol" icon={<Server size={15} />} onSelect={go(paths.addServer)}>
            Add server
          </CommandItem>
        ) : null}
        {can('benchmark.write') ? (
          <CommandItem
            value="start benchmark measure"
            icon={<ChartSpline size={15} />}
            onSelect={go(paths.startBenchmark())}
          >
            Start benchmark
          </CommandItem>
        ) : null}
        <CommandItem
          value="switch theme dark light"
          icon={isDark ? <Sun size={15} /> : <Moon size={15} />}
          onSelect={run(() => setTheme(isDark ? 'light' : 'dark'))}
        >
          {isDark ? 'Switch to the light theme' : 'Switch to the dark theme'}
        </CommandItem>
        <CommandItem value="sign out log out" icon={<LogOut size={15} />} onSelect={run(() => void signOut())}>
          Sign out
        </CommandItem>
      </CommandGroup>
    </CommandDialog>
  );
}
