'use client';
// What can be done with a deployment right now: cancel it, roll back to it, deploy it again.
import { Button } from '@fairlead/ui/button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CircleStop, RotateCcw, Undo2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentDetail } from '../../api/types.ts';
import { useMe } from '../../common/me.tsx';
import { useAction } from '../../common/use-action.ts';

export function DeploymentActions({ deployment }: { readonly deployment: DeploymentDetail }) {
  const { paths, can } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  const open = ({ deploymentId }: { readonly deploymentId: string }) => router.push(paths.deployment(deploymentId));

  const cancel = useAction(
    useMutation(trpc.deployment.cancel.mutationOptions()),
    "The deployment wasn't cancelled",
    () => {
      toast({ tone: 'warn', title: 'Cancelling', detail: 'What served before goes on serving.' });
      void queryClient.invalidateQueries(trpc.deployment.get.pathFilter());
    },
  );
  const redeploy = useAction(useMutation(trpc.deployment.redeploy.mutationOptions()), "It wasn't deployed again", open);
  const rollBack = useAction(useMutation(trpc.deployment.rollback.mutationOptions()), "It wasn't rolled back", open);

  if (!can('deployment.write', deployment)) return null;
  const { releaseId } = deployment;
  return (
    <>
      {deployment.canRedeploy ? (
        <Button
          variant={deployment.state === 'failed' ? 'accent' : 'plain'}
          icon={<RotateCcw size={15} aria-hidden="true" />}
          pending={redeploy.pending}
          onClick={() => redeploy.run({ deploymentId: deployment.id })}
        >
          Redeploy
        </Button>
      ) : null}
      {deployment.canRollBackTo && releaseId !== null ? (
        <Button
          variant="accent"
          icon={<Undo2 size={15} aria-hidden="true" />}
          pending={rollBack.pending}
          onClick={() => rollBack.run({ appId: deployment.appId, releaseId })}
        >
          Roll back to this
        </Button>
      ) : null}
      {deployment.canCancel ? (
        <Button
          icon={<CircleStop size={15} aria-hidden="true" />}
          pending={cancel.pending || deployment.cancelRequestedAt !== null}
          onClick={() => cancel.run({ deploymentId: deployment.id })}
        >
          {deployment.cancelRequestedAt === null ? 'Cancel' : 'Cancelling'}
        </Button>
      ) : null}
    </>
  );
}
