'use client';
// Moves the apps that run only on a drained server to another one.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Select } from '@fairlead/ui/input';
import { plural } from '@fairlead/ui/lib/format';
import { useToast } from '@fairlead/ui/toast';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail, ServerDrain } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { openServers, ServerOptions } from '../../common/server/server-options.tsx';
import { DrainedApps } from './drained-apps.tsx';

export interface MoveAppsDialogProps {
  readonly server: ServerDetail;
  readonly apps: ServerDrain['apps'];
  /** Moves apps with volumes too. Default: they stay. */
  readonly leaveVolumes?: boolean;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function MoveAppsDialog({ server, apps, leaveVolumes = false, open, onClose }: MoveAppsDialogProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [chosen, setChosen] = useState('');
  const { data } = useQuery({ ...trpc.server.list.queryOptions(), enabled: open });
  const move = useFreshMutation(trpc.server.moveApps.mutationOptions());
  const targets = openServers(data?.items ?? []).filter(({ state }) => state === 'online');
  const target = targets.find(({ id }) => id === chosen) ?? targets[0];
  const moving = apps.filter(({ stays }) => stays === 'only_here');
  const kept = apps.filter(({ stays }) => stays === 'volumes');
  const start = () => {
    if (target === undefined) return;
    move.mutate(
      { serverId: server.id, targetServerId: target.id, leaveVolumes },
      {
        onSuccess: ({ items }) => {
          toast({ title: `${plural(items.length, 'app')} added to ${target.name}`, detail: 'Deployments start now.' });
          void queryClient.invalidateQueries(trpc.server.pathFilter());
          onClose();
        },
      },
    );
  };
  const failure = move.error !== null && !wasCancelled(move.error) ? readFailure(move.error).message : null;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={`Move apps from ${server.name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="accent" pending={move.isPending} disabled={target === undefined} onClick={start}>
            Move apps
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-pretty text-ink-soft">
        {data !== undefined && target === undefined ? (
          <p>No other server is online and takes deployments. Add one first.</p>
        ) : (
          <Field label="Target server">
            {(control) => (
              <Select {...control} value={target?.id ?? ''} onChange={(event) => setChosen(event.target.value)}>
                <ServerOptions servers={targets} />
              </Select>
            )}
          </Field>
        )}
        <DrainedApps apps={moving.map((app) => ({ ...app, stays: null }))} />
        <p>
          Each app is added to the target server and deployed there: its live release from the artifact store, or a new
          build of its commit. {server.name} doesn't have to answer.
        </p>
        <p>
          When they are live there, point the DNS records of their domains to the target server. Then choose “Drain
          again”, and they leave {server.name}.
        </p>
        {kept.length === 0 ? null : (
          <>
            <p>
              These apps stay. Their volumes are on {server.name} only and can't move to another server yet. If it is
              lost, their data is lost with it.
            </p>
            <DrainedApps apps={kept.map((app) => ({ ...app, stays: null }))} />
          </>
        )}
        {failure === null ? null : <ErrorNote>{failure}</ErrorNote>}
      </div>
    </Dialog>
  );
}
