'use client';
// State of a drained server: since when, by whom, and the apps that are still there.
import { Button } from '@fairlead/ui/button';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateMark } from '@fairlead/ui/state-pill';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { DrainedApps } from './drained-apps.tsx';
import { isMovable, MoveAppsDialog } from './move-apps-dialog.tsx';

export function ServerDrainNote({ server }: { readonly server: ServerDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [moving, setMoving] = useState(false);
  const { drainedAt } = server;
  const { data } = useQuery({
    ...trpc.server.drainState.queryOptions({ serverId: server.id }),
    enabled: drainedAt !== null,
  });
  const change = useAction(
    useMutation(trpc.server.drain.mutationOptions()),
    "The drain wasn't changed",
    () => void queryClient.invalidateQueries(trpc.server.pathFilter()),
  );
  // The note on its removal says more.
  if (drainedAt === null || server.uninstall?.state === 'running') return null;
  const apps = data?.apps ?? [];
  return (
    <section
      aria-label="Drain"
      className="flex flex-wrap items-start gap-x-3 gap-y-3 rounded-card bg-warn-wash px-4 py-3"
    >
      <span className="mt-1.5">
        <StateMark tone="warn" />
      </span>
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1 text-pretty text-ink">
        <h2 className="font-semibold text-warn-text">
          Drained <RelativeTime at={drainedAt} />
          {data?.drainedBy == null ? null : ` by ${data.drainedBy}`}
        </h2>
        <p>No deployment starts on this server.</p>
        {data === undefined ? null : apps.length === 0 ? (
          <p>No app runs on it any more.</p>
        ) : (
          <>
            <p>These apps are still on it:</p>
            <DrainedApps apps={apps} />
          </>
        )}
        {data === undefined || data.builds.length === 0 ? null : (
          <>
            <p>These apps build on the first server that they run on instead:</p>
            <DrainedApps apps={data.builds} />
          </>
        )}
      </div>
      {can('server.write') ? (
        <span className="flex flex-wrap gap-2">
          <Button pending={change.pending} onClick={() => change.run({ serverId: server.id, drained: false })}>
            End drain
          </Button>
          {apps.some(isMovable) ? <Button onClick={() => setMoving(true)}>Move apps</Button> : null}
          {apps.some(({ stays }) => stays === null) ? (
            <Button pending={change.pending} onClick={() => change.run({ serverId: server.id, drained: true })}>
              Drain again
            </Button>
          ) : null}
        </span>
      ) : null}
      <MoveAppsDialog server={server} apps={apps} open={moving} onClose={() => setMoving(false)} />
    </section>
  );
}
