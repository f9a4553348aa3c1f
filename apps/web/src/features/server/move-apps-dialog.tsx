'use client';
// Moves apps from a drained server to another one, with copies of their volumes.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox, Field, Select } from '@fairlead/ui/input';
import { useToast } from '@fairlead/ui/toast';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDrain, ServerSummary } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { openServers, ServerOptions } from '../../common/server/server-options.tsx';
import { DrainedApps } from './drained-apps.tsx';
import { VolumeCopies } from './volume-copies.tsx';

export interface MoveAppsDialogProps {
  readonly server: ServerSummary;
  readonly apps: ServerDrain['apps'];
  /** True: volumes are left behind unless the user copies them. */
  readonly leavesVolumes?: boolean;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** True if “Move apps” can take the app from the server. */
export function isMovable(app: ServerDrain['apps'][number]): boolean {
  return isCopied(app) || (app.stays === 'only_here' && app.move === null);
}

/** An app whose volumes a move would copy. */
function isCopied({ hasVolumes, stays, move }: ServerDrain['apps'][number]): boolean {
  return hasVolumes && move === null && (stays === 'volumes' || stays === 'only_here');
}

export function MoveAppsDialog({ server, apps, leavesVolumes = false, open, onClose }: MoveAppsDialogProps) {
  const { plural } = useFormats();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [chosen, setChosen] = useState('');
  const [copying, setCopying] = useState<boolean | null>(null);
  const [leaving, setLeaving] = useState<boolean | null>(null);
  const copyVolumes = copying ?? !leavesVolumes;
  const leaveVolumes = leaving ?? leavesVolumes;
  const { data } = useQuery({ ...trpc.server.list.queryOptions(), enabled: open });
  const move = useFreshMutation(trpc.server.moveApps.mutationOptions());
  const targets = openServers(data?.items ?? []).filter(({ state }) => state === 'online');
  const target = targets.find(({ id }) => id === chosen) ?? targets[0];
  const isOffline = server.state !== 'online';
  const plain = apps.filter(({ stays, hasVolumes }) => stays === 'only_here' && !hasVolumes);
  const withVolumes = apps.filter(isCopied);
  const isLosing =
    isOffline && withVolumes.some(({ volumes }) => volumes.some(({ snapshotAt }) => snapshotAt === null));
  const start = () => {
    if (target === undefined) return;
    move.mutate(
      { serverId: server.id, targetServerId: target.id, copyVolumes, leaveVolumes },
      {
        onSuccess: ({ items }) => {
          toast({ title: `${plural(items.length, 'app')} moving to ${target.name}` });
          void queryClient.invalidateQueries(trpc.server.pathFilter());
          void queryClient.invalidateQueries(trpc.volumeMove.pathFilter());
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
        {plain.length === 0 ? null : (
          <>
            <DrainedApps apps={plain.map((app) => ({ ...app, stays: null }))} />
            <p>
              Each app is added to the target server and deployed there: its live release from the artifact store, or a
              new build of its commit. When they are live there, point the DNS records of their domains to the target
              server. Then choose “Drain again”, and they leave {server.name}.
            </p>
          </>
        )}
        {withVolumes.length === 0 ? null : (
          <>
            <h3 className="font-medium text-ink">Apps with volumes</h3>
            <ul className="flex flex-col gap-1.5">
              {withVolumes.map(({ appId, environmentId, name, environmentName, volumes }) => (
                <li key={`${appId} ${environmentId}`} className="min-w-0 break-words">
                  <span className="text-ink">{name}</span> <span className="text-sm">· {environmentName}</span>
                  <VolumeCopies volumes={volumes} isOffline={isOffline} />
                </li>
              ))}
            </ul>
            <Checkbox
              label="Copy volumes"
              hint={
                isOffline
                  ? 'Volumes start from their newest snapshots. Later changes stay on the lost server.'
                  : 'Each app is down while its volumes are copied: it stops here, and starts on the target server. If that fails, it starts here again.'
              }
              checked={copyVolumes}
              onChange={(event) => setCopying(event.target.checked)}
            />
            {isLosing || !copyVolumes ? (
              <Checkbox
                label="Leave data behind"
                hint={
                  copyVolumes
                    ? 'Volumes without a snapshot start empty.'
                    : 'The apps start with empty volumes. Otherwise they stay here.'
                }
                checked={leaveVolumes}
                onChange={(event) => setLeaving(event.target.checked)}
              />
            ) : null}
            {isOffline || !copyVolumes ? null : (
              <p>{server.name} keeps its copies for seven days. Point the DNS records to the target server.</p>
            )}
          </>
        )}
        {failure === null ? null : <ErrorNote>{failure}</ErrorNote>}
      </div>
    </Dialog>
  );
}
