'use client';
// Guides through the removal of a server: drain it, move its apps, then remove its agent or, if that does not answer, only
// the server here.
import { supports } from '@fairlead/contract/capabilities';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox } from '@fairlead/ui/input';
import { type Step, Steps } from '@fairlead/ui/steps';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerSummary } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { DrainedApps } from './drained-apps.tsx';
import { isMovable, MoveAppsDialog } from './move-apps-dialog.tsx';
import { RemoveServerForm } from './remove-server-form.tsx';
import { ServerMoves } from './server-moves.tsx';
import { UninstallCommand } from './uninstall-command.tsx';

/** Poll interval of the apps that are moving, in milliseconds. */
const ASK_EVERY_MS = 3000;

export interface RemoveServerDialogProps {
  readonly server: ServerSummary;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function RemoveServerDialog({ server, open, onClose }: RemoveServerDialogProps) {
  const { paths } = useMe();
  const router = useRouter();
  const [isDeleted, setDeleted] = useState(false);
  const leave = () => {
    onClose();
    router.push(paths.servers);
  };
  if (isDeleted) {
    return (
      <Dialog
        open={open}
        onClose={leave}
        title={`${server.name} is removed here`}
        footer={
          <Button variant="accent" onClick={leave}>
            Close
          </Button>
        }
      >
        <div className="flex flex-col gap-3 text-pretty text-ink-soft">
          <p>
            Its agent can no longer connect. If the machine still runs, it serves its apps until you remove the agent
            there:
          </p>
          <UninstallCommand />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title={`Remove ${server.name}`}
      detail="Removes the server from this control plane and the agent from the machine."
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <RemovalSteps server={server} onDeleted={() => setDeleted(true)} onAsked={onClose} />
    </Dialog>
  );
}

interface RemovalStepsProps {
  readonly server: ServerSummary;
  readonly onDeleted: () => void;
  readonly onAsked: () => void;
}

function RemovalSteps({ server, onDeleted, onAsked }: RemovalStepsProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [moving, setMoving] = useState(false);
  const [leaveVolumes, setLeaveVolumes] = useState(false);
  const input = { serverId: server.id, leaveVolumes };
  const state = useQuery({
    ...trpc.server.drainState.queryOptions(input),
    staleTime: 0,
    refetchInterval: ASK_EVERY_MS,
  });
  const drain = useMutation(trpc.server.drain.mutationOptions());
  const apps = state.data?.apps ?? [];
  const isDrained = server.drainedAt !== null;
  const isEmpty = state.data !== undefined && apps.length === 0;
  const start = () =>
    drain.mutate(
      { ...input, drained: true },
      { onSuccess: () => void queryClient.invalidateQueries(trpc.server.pathFilter()) },
    );
  const failure = drain.error ?? state.error;
  const steps: readonly Step[] = [
    {
      id: 'drain',
      title: 'Drain',
      state: isDrained ? 'done' : 'running',
      detail: isDrained ? null : (
        <div className="flex flex-col items-start gap-2">
          <p>Nothing more is deployed to the server. Apps that also run elsewhere leave it.</p>
          <Button variant="accent" pending={drain.isPending} onClick={start}>
            Drain server
          </Button>
        </div>
      ),
    },
    {
      id: 'apps',
      title: 'Move apps',
      state: !isDrained ? 'pending' : isEmpty ? 'done' : 'running',
      detail:
        !isDrained || apps.length === 0 ? null : (
          <div className="flex flex-col items-start gap-2">
            <p>These apps are still on it:</p>
            <DrainedApps apps={apps} />
            <ServerMoves serverId={server.id} />
            {leaveVolumes || apps.some(({ stays }) => stays === 'volumes') ? (
              <Checkbox
                label="Leave volumes behind"
                hint="Apps whose volumes you do not copy start with empty ones. Their data stays on the machine."
                checked={leaveVolumes}
                onChange={(event) => setLeaveVolumes(event.target.checked)}
              />
            ) : null}
            <span className="flex flex-wrap gap-2">
              {apps.some(isMovable) ? <Button onClick={() => setMoving(true)}>Move apps</Button> : null}
              {apps.some(({ stays }) => stays === null) ? (
                <Button pending={drain.isPending} onClick={start}>
                  Drain again
                </Button>
              ) : null}
            </span>
          </div>
        ),
    },
    {
      id: 'remove',
      title: 'Remove',
      state: isDrained && isEmpty ? 'running' : 'pending',
      detail:
        isDrained && isEmpty ? (
          <RemoveServerForm
            server={server}
            withAgent={server.state === 'online' && supports(server.capabilities, 'uninstall')}
            onDeleted={onDeleted}
            onAsked={onAsked}
          />
        ) : null,
    },
  ];
  return (
    <div className="flex flex-col gap-3 text-pretty">
      <Steps label="Progress" steps={steps} />
      {failure === null ? null : <ErrorNote>{readFailure(failure).message}</ErrorNote>}
      <MoveAppsDialog
        server={server}
        apps={apps}
        leavesVolumes={leaveVolumes}
        open={moving}
        onClose={() => setMoving(false)}
      />
    </div>
  );
}
