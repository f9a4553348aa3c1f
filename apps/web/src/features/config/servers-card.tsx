'use client';
// Servers of an app in one environment. An added server gets the app with the next deployment; a removed one stops it.
import { Button, IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CrossIcon } from '@fairlead/ui/cross-icon';
import { Field, Select } from '@fairlead/ui/input';
import { StateText } from '@fairlead/ui/state-pill';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { type AppPlacement, useAppInEnvironment } from '../../common/app/app-placement.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { openServers, ServerOptions } from '../../common/server/server-options.tsx';
import type { SettingsPageProps } from './settings-form.tsx';

export function ServersCard({ slug, initial }: SettingsPageProps) {
  const { app, placement } = useAppInEnvironment(slug, initial);
  return placement === null ? null : <Servers app={app} placement={placement} />;
}

function Servers({ app, placement }: { readonly app: AppDetail; readonly placement: AppPlacement }) {
  const { paths, can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [chosen, setChosen] = useState('');
  const { environmentId, servers } = placement;
  const refetch = () => void queryClient.invalidateQueries(trpc.app.pathFilter());
  const attach = useAction(useFreshMutation(trpc.app.attachServer.mutationOptions()), "The server wasn't added", () => {
    setChosen('');
    refetch();
    toast({ title: 'Server added', detail: 'The next deployment starts the app on it.' });
  });
  const detach = useAction(
    useMutation(trpc.app.detachServer.mutationOptions()),
    "The server wasn't removed",
    ({ serverId }) => {
      refetch();
      toast({
        title: 'Server removed',
        action: { label: 'Undo', onSelect: () => attach.run({ appId: app.id, environmentId, serverId }) },
      });
    },
  );
  const move = useAction(
    useMutation(trpc.app.moveServer.mutationOptions()),
    "The primary server wasn't changed",
    () => {
      refetch();
      toast({ title: 'Primary server changed', detail: 'The next deployment builds there and rolls out there first.' });
    },
  );
  const where = { projectId: app.projectId, environmentId };
  const mayWrite = can('app.write', where);
  const known = useQuery({ ...trpc.server.list.queryOptions(), enabled: mayWrite }).data?.items ?? [];
  const others = openServers(known).filter((server) => !servers.some((each) => each.serverId === server.id));
  return (
    <Card>
      <CardHeader title="Servers" detail="Built once, run on each server" />
      <ul>
        {servers.map((server, position) => (
          <li key={server.serverId} className="flex min-h-12 items-center gap-3 border-line border-t px-4">
            <HoverLink href={paths.server(server.serverId)} className="min-w-0 truncate rounded-mark hover:underline">
              {server.serverName}
            </HoverLink>
            {position === 0 && servers.length > 1 ? (
              <span
                className="text-ink-faint text-sm"
                title="Builds the app, unless the settings name a build server, and gets each release first"
              >
                Primary
              </span>
            ) : null}
            {server.connected ? null : <StateText tone="warn">Offline</StateText>}
            <span className="ml-auto text-ink-faint text-sm">{releaseText(server, placement)}</span>
            {mayWrite && position > 0 && server.liveReleaseNumber !== null ? (
              <Button
                size="small"
                variant="ghost"
                pending={move.pending}
                aria-label={`Make ${server.serverName} the primary server`}
                onClick={() => move.run({ appId: app.id, environmentId, serverId: server.serverId })}
              >
                Make primary
              </Button>
            ) : null}
            {mayWrite && servers.length > 1 ? (
              <IconButton
                size="small"
                label={`Remove ${server.serverName}`}
                onClick={() => detach.run({ appId: app.id, environmentId, serverId: server.serverId })}
              >
                <CrossIcon />
              </IconButton>
            ) : null}
          </li>
        ))}
      </ul>
      {mayWrite && others.length > 0 ? (
        <form
          className="flex items-end gap-3 border-line border-t p-4"
          onSubmit={(event) => {
            event.preventDefault();
            attach.run({ appId: app.id, environmentId, serverId: chosen || (others[0]?.id ?? '') });
          }}
        >
          <Field label="Add server" className="flex-1">
            {(control) => (
              <Select {...control} value={chosen} onChange={(event) => setChosen(event.target.value)}>
                <ServerOptions servers={others} />
              </Select>
            )}
          </Field>
          <SubmitButton className="h-9" pending={attach.pending}>
            Add
          </SubmitButton>
        </form>
      ) : null}
    </Card>
  );
}

/** One server may still have the release before the live one. */
function releaseText(
  { liveReleaseNumber }: AppPlacement['servers'][number],
  { liveReleaseNumber: live }: AppPlacement,
): string {
  if (liveReleaseNumber === null) return 'Not deployed';
  return liveReleaseNumber === live ? 'Live release' : 'Other release';
}
