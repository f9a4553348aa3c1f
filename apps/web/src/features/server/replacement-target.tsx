'use client';
// First step of a replacement: the server that takes over, and the start of the move.
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Select } from '@fairlead/ui/input';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail, ServerDrain } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { openServers, ServerOptions } from '../../common/server/server-options.tsx';
import { AddServer } from './add-server-dialog.tsx';
import { ReplacedApps } from './replaced-apps.tsx';

export interface ReplacementTargetProps {
  readonly server: ServerDetail;
  readonly apps: ServerDrain['apps'];
}

export function ReplacementTarget({ server, apps }: ReplacementTargetProps) {
  const { can } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [chosen, setChosen] = useState('');
  const [adding, setAdding] = useState(false);
  const { data } = useQuery(trpc.server.list.queryOptions());
  const drain = useMutation(trpc.server.drain.mutationOptions());
  const move = useFreshMutation(trpc.server.moveApps.mutationOptions());
  const targets = openServers(data?.items ?? []).filter(({ id, state }) => state === 'online' && id !== server.id);
  const target = targets.find(({ id }) => id === chosen) ?? targets[0];
  const [leaving, setLeaving] = useState(false);
  const input = { serverId: server.id, leaveVolumes: true };
  const isLosing = apps.some(({ volumes }) => volumes.some(({ snapshotAt }) => snapshotAt === null));
  const start = () => {
    if (target === undefined) return;
    const onMoved = () => void queryClient.invalidateQueries(trpc.server.pathFilter());
    const onDrained = () =>
      move.mutate({ ...input, copyVolumes: true, targetServerId: target.id }, { onSuccess: onMoved });
    drain.mutate({ ...input, drained: true }, { onSuccess: onDrained });
  };
  const error = drain.error ?? move.error;
  if (adding) {
    const take = (serverId: string) => {
      void queryClient.invalidateQueries(trpc.server.pathFilter());
      setChosen(serverId);
      setAdding(false);
    };
    return <AddServer onClose={() => setAdding(false)} onConnected={take} />;
  }
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-end gap-2">
        {target === undefined ? (
          <p>No other server is online and takes deployments.</p>
        ) : (
          <Field label="New server" className="min-w-48 flex-1">
            {(control) => (
              <Select {...control} value={target.id} onChange={(event) => setChosen(event.target.value)}>
                <ServerOptions servers={targets} />
              </Select>
            )}
          </Field>
        )}
        {can('server.enrol') ? <Button onClick={() => setAdding(true)}>Add a new server</Button> : null}
      </div>
      {apps.length === 0 ? <p>No app is on {server.name}.</p> : <ReplacedApps apps={apps} />}
      {isLosing ? (
        <>
          <WarnNote>
            Some volumes have no snapshot, so their data is on the lost machine only. If you can repair it, do that
            instead.
          </WarnNote>
          <Checkbox
            label="Leave data behind"
            hint="Volumes without a snapshot start empty."
            checked={leaving}
            onChange={(event) => setLeaving(event.target.checked)}
          />
        </>
      ) : null}
      {error === null || wasCancelled(error) ? null : <ErrorNote>{readFailure(error).message}</ErrorNote>}
      <span>
        <Button
          variant="accent"
          pending={drain.isPending || move.isPending}
          disabled={target === undefined || (isLosing && !leaving)}
          onClick={start}
        >
          {apps.length === 0 ? 'Continue' : 'Move apps'}
        </Button>
      </span>
    </div>
  );
}
