'use client';
// Confirmation of the upgrade of all agents: shows its waves before it starts.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AvailableRollout } from '../../api/types.ts';
import { leftOutSentence, nameList, waveLabel } from './rollout-text.ts';

export interface AgentRolloutDialogProps {
  readonly available: AvailableRollout;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function AgentRolloutDialog({ available, open, onClose }: AgentRolloutDialogProps) {
  const { plural } = useFormats();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const start = useMutation(trpc.agentRollout.start.mutationOptions());
  const { version, waves, leftOut } = available;
  const passedOver = leftOutSentence(leftOut);
  const onSuccess = () => {
    void queryClient.invalidateQueries(trpc.agentRollout.pathFilter());
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={`Upgrade ${plural(waves.flat().length, 'agent')} to ${version}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="accent" pending={start.isPending} onClick={() => start.mutate(undefined, { onSuccess })}>
            Upgrade all
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-pretty text-ink-soft">
        <ol aria-label="Waves" className="flex flex-col gap-2">
          {waves.map((wave, at) => (
            <li key={wave[0]?.id} className="flex gap-3">
              <span className="tabular-nums">{at + 1}.</span>
              <span className="min-w-0">
                <span className="block text-ink">{waveLabel(at, waves.length)}</span>
                <span className="block break-words text-sm">{nameList(wave)}</span>
              </span>
            </li>
          ))}
        </ol>
        <p>
          A wave starts once every server of the previous wave runs the new agent and is connected. The first failure
          stops the upgrade: the failed server returns to its previous agent, and the other servers keep theirs.
        </p>
        <p>Apps keep running and no request is lost.</p>
        {passedOver === null ? null : <p>{passedOver}</p>}
        {start.error === null ? null : <ErrorNote>{readFailure(start.error).message}</ErrorNote>}
      </div>
    </Dialog>
  );
}
