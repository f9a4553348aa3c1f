'use client';
// Replaces a lost server: moves its apps to another one, old or new, and removes it. Each step can be continued later.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { type Step, Steps } from '@fairlead/ui/steps';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail, ServerDrain } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { RemoveServerForm } from './remove-server-form.tsx';
import { ReplacedApps } from './replaced-apps.tsx';
import { ReplacementTarget } from './replacement-target.tsx';
import { ServerMoves } from './server-moves.tsx';
import { UninstallCommand } from './uninstall-command.tsx';

/** Poll interval of the apps that are moving, in milliseconds. */
const ASK_EVERY_MS = 3000;

export interface ReplaceServerDialogProps {
  readonly server: ServerDetail;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function ReplaceServerDialog({ server, open, onClose }: ReplaceServerDialogProps) {
  const { paths } = useMe();
  const router = useRouter();
  const [isDeleted, setDeleted] = useState(false);
  const close = () => {
    onClose();
    if (isDeleted) router.push(paths.servers);
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      wide
      title={isDeleted ? `${server.name} is replaced` : `Replace ${server.name}`}
      detail={
        isDeleted
          ? 'Its identity is revoked, so it can’t come back.'
          : 'Its apps move to another server. The lost one does not have to answer.'
      }
      footer={<Button onClick={close}>Close</Button>}
    >
      {isDeleted ? (
        <div className="flex flex-col gap-3 text-pretty text-ink-soft">
          <p>If the machine runs again, it still serves its former apps until you remove its agent:</p>
          <UninstallCommand />
        </div>
      ) : (
        <ReplacementSteps server={server} onDeleted={() => setDeleted(true)} />
      )}
    </Dialog>
  );
}

interface ReplacementStepsProps {
  readonly server: ServerDetail;
  readonly onDeleted: () => void;
}

function ReplacementSteps({ server, onDeleted }: ReplacementStepsProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const input = { serverId: server.id, leaveVolumes: true };
  const state = useQuery({
    ...trpc.server.drainState.queryOptions(input),
    staleTime: 0,
    refetchInterval: ASK_EVERY_MS,
  });
  const drain = useMutation(trpc.server.drain.mutationOptions());
  const apps = state.data?.apps ?? [];
  const phase = phaseOf(server.drainedAt !== null, state.data);
  const leave = () =>
    drain.mutate(
      { ...input, drained: true },
      { onSuccess: () => void queryClient.invalidateQueries(trpc.server.pathFilter()) },
    );
  const failure = state.error ?? drain.error;
  const stateOf = (at: number): Step['state'] => (phase > at ? 'done' : phase === at ? 'running' : 'pending');
  const steps: readonly Step[] = [
    {
      id: 'move',
      title: 'Move apps',
      state: stateOf(0),
      detail: phase === 0 && state.data !== undefined ? <ReplacementTarget server={server} apps={apps} /> : null,
    },
    {
      id: 'live',
      title: 'Wait until they are live',
      state: stateOf(1),
      detail:
        phase === 1 ? (
          <div className="flex flex-col gap-3">
            <ReplacedApps apps={apps} />
            <ServerMoves serverId={server.id} />
          </div>
        ) : null,
    },
    {
      id: 'leave',
      title: 'Point domains to the new server',
      state: stateOf(2),
      detail:
        phase === 2 ? (
          <div className="flex flex-col items-start gap-2">
            <p>Every app is live elsewhere. Point the DNS records of these hosts to the new server:</p>
            <ReplacedApps apps={apps} />
            <Button pending={drain.isPending} onClick={leave}>
              Continue
            </Button>
          </div>
        ) : null,
    },
    {
      id: 'remove',
      title: `Remove ${server.name}`,
      state: stateOf(3),
      detail:
        phase === 3 ? (
          <RemoveServerForm server={server} withAgent={false} onDeleted={onDeleted} onAsked={onDeleted} />
        ) : null,
    },
  ];
  return (
    <div className="flex flex-col gap-3 text-pretty">
      <Steps label="Progress" steps={steps} />
      {failure === null ? null : <ErrorNote>{readFailure(failure).message}</ErrorNote>}
    </div>
  );
}

/** Number of the current step. It follows from the apps, so that a reload continues where it was. */
function phaseOf(isDrained: boolean, drain: ServerDrain | undefined): number {
  if (drain === undefined || !isDrained) return 0;
  if (drain.apps.length === 0) return 3;
  if (drain.apps.some(({ stays, move }) => stays === 'only_here' && move === null)) return 0;
  return drain.apps.every(({ stays, move }) => stays === null && move === null) ? 2 : 1;
}
