'use client';
// Confirmation of a drain: names the apps that leave the server, those that stay with what to do about each, and those that
// it builds.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDrain, ServerSummary } from '../../api/types.ts';
import { DrainedApps } from './drained-apps.tsx';

export interface DrainDialogProps {
  readonly server: ServerSummary;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function DrainDialog({ server, open, onClose }: DrainDialogProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const { data, error } = useQuery({
    ...trpc.server.drainState.queryOptions({ serverId: server.id }),
    enabled: open,
    staleTime: 0,
  });
  const drain = useMutation(trpc.server.drain.mutationOptions());
  const onSuccess = () => {
    void queryClient.invalidateQueries(trpc.server.pathFilter());
    onClose();
  };
  const failure = drain.error ?? error;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={`Drain ${server.name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="accent"
            pending={drain.isPending}
            disabled={data === undefined}
            onClick={() => drain.mutate({ serverId: server.id, drained: true }, { onSuccess })}
          >
            Drain server
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-pretty text-ink-soft">
        <p>
          No deployment starts on this server until you end the drain. Apps that also run on other servers stop here
          once their requests in flight have finished.
        </p>
        {data === undefined ? <Skeleton className="h-16" /> : <Plan apps={data.apps} builds={data.builds} />}
        {failure === null ? null : <ErrorNote>{readFailure(failure).message}</ErrorNote>}
      </div>
    </Dialog>
  );
}

function Plan({ apps, builds }: Pick<ServerDrain, 'apps' | 'builds'>) {
  const leaving = apps.filter(({ stays }) => stays === null);
  const staying = apps.filter(({ stays }) => stays !== null);
  return (
    <>
      {leaving.length === 0 ? null : (
        <>
          <h3 className="font-medium text-ink">Apps that leave this server</h3>
          <DrainedApps apps={leaving} />
          <p>
            This server then has no route to them. Before you continue, point the DNS records of their domains to the
            other servers.
          </p>
        </>
      )}
      {staying.length === 0 ? null : (
        <>
          <h3 className="font-medium text-ink">These apps stay on it</h3>
          <DrainedApps apps={staying} />
        </>
      )}
      {apps.length === 0 ? <p>No app runs on it.</p> : null}
      {builds.length === 0 ? null : (
        <>
          <h3 className="font-medium text-ink">These apps build on it</h3>
          <DrainedApps apps={builds} />
          <p>Until you end the drain, they build on the first server that they run on.</p>
        </>
      )}
    </>
  );
}
