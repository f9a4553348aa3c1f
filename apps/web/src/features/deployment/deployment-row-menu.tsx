'use client';
// Menu of a deployment's row: the actions of its page that need no further facts.
import { MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CircleStop, Eraser, FileText, MoveUpRight, RotateCcw, RotateCw, SquareStack, Undo2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentSummary } from '../../api/types.ts';
import { isInProgress } from '../../common/deployment/states.ts';
import { useAction } from '../../common/form/use-action.ts';
import { RowMenuCell } from '../../common/list/row-menu.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { useDeploymentCalls } from './deployment-actions.tsx';

export interface DeploymentRowMenuProps {
  readonly deployment: DeploymentSummary;
  readonly calls: DeploymentCalls;
}

export type DeploymentCalls = ReturnType<typeof useDeploymentRowCalls>;

/** Calls of all rows of a list. */
export function useDeploymentRowCalls() {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const { run } = useDeploymentCalls();
  const cancel = useAction(
    useMutation(trpc.deployment.cancel.mutationOptions()),
    "The deployment wasn't cancelled",
    () => {
      toast({ tone: 'warn', title: 'Cancelling', detail: 'The previous release stays live.' });
      void queryClient.invalidateQueries(trpc.deployment.pathFilter());
    },
  );
  return { ...run, cancel: cancel.run };
}

export function DeploymentRowMenu({ deployment, calls }: DeploymentRowMenuProps) {
  const { paths, can } = useMe();
  const router = useRouter();
  const { id: deploymentId, appId, appSlug, environmentId, releaseId, state } = deployment;
  const mayWrite = can('deployment.write', deployment);
  const isOver = !isInProgress(state);
  const canRetry = state === 'failed' || state === 'cancelled';
  return (
    <RowMenuCell name={`${deployment.appName} #${deployment.number}`}>
      <MenuItem icon={<MoveUpRight size={15} />} onSelect={() => router.push(paths.deployment(deploymentId))}>
        Open
      </MenuItem>
      <MenuItem icon={<SquareStack size={15} />} onSelect={() => router.push(paths.app(appSlug, environmentId))}>
        Open app
      </MenuItem>
      {can('log.read', deployment) ? (
        <MenuItem icon={<FileText size={15} />} onSelect={() => router.push(paths.appLogs(appSlug, environmentId))}>
          App logs
        </MenuItem>
      ) : null}
      {mayWrite ? <MenuSeparator /> : null}
      {mayWrite && canRetry ? (
        <MenuItem icon={<RotateCw size={15} />} onSelect={() => calls.retry({ deploymentId })}>
          Retry
        </MenuItem>
      ) : null}
      {mayWrite && isOver ? (
        <>
          <MenuItem icon={<RotateCcw size={15} />} onSelect={() => calls.redeploy({ deploymentId })}>
            Redeploy
          </MenuItem>
          <MenuItem icon={<Eraser size={15} />} onSelect={() => calls.redeploy({ deploymentId, withoutCache: true })}>
            Redeploy without cache
          </MenuItem>
        </>
      ) : null}
      {mayWrite && state === 'live' && !deployment.isCurrent && releaseId !== null ? (
        <MenuItem icon={<Undo2 size={15} />} onSelect={() => calls.rollBack({ appId, environmentId, releaseId })}>
          Roll back to this
        </MenuItem>
      ) : null}
      {mayWrite && !isOver ? (
        <MenuItem icon={<CircleStop size={15} />} onSelect={() => calls.cancel({ deploymentId })}>
          Cancel
        </MenuItem>
      ) : null}
    </RowMenuCell>
  );
}
