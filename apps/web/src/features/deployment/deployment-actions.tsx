'use client';
// Actions of a deployment: the main one as a button, the rest in a menu.
import { Button, IconButton } from '@fairlead/ui/button';
import { Menu, MenuItem } from '@fairlead/ui/menu';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CircleStop, Ellipsis, Eraser, MoveUpRight, RotateCcw, RotateCw, Undo2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import type { ReactNode } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentDetail } from '../../api/types.ts';
import { remainsText } from '../../common/deployment/failure.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';

export function DeploymentActions({ deployment }: { readonly deployment: DeploymentDetail }) {
  const { can } = useMe();
  return can('deployment.write', deployment) ? <Actions deployment={deployment} /> : null;
}

function Actions({ deployment }: { readonly deployment: DeploymentDetail }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const { run, pending } = useDeploymentCalls();
  const cancel = useAction(
    useMutation(trpc.deployment.cancel.mutationOptions()),
    "The deployment wasn't cancelled",
    () => {
      toast({ tone: 'warn', title: 'Cancelling', detail: remainsText(deployment) });
      void queryClient.invalidateQueries(trpc.deployment.get.pathFilter());
    },
  );
  const { id: deploymentId, releaseId, canRetry, canRedeploy } = deployment;
  const targets = usePromotionTargets(deployment);
  const items: ReactNode[] = [];
  if (canRedeploy && canRetry) {
    items.push(
      <MenuItem key="again" icon={<RotateCcw size={15} />} onSelect={() => run.redeploy({ deploymentId })}>
        Redeploy
      </MenuItem>,
    );
  }
  if (canRedeploy) {
    items.push(
      <MenuItem
        key="without-cache"
        icon={<Eraser size={15} />}
        onSelect={() => run.redeploy({ deploymentId, withoutCache: true })}
      >
        Redeploy without cache
      </MenuItem>,
    );
  }
  if (releaseId !== null && deployment.state === 'live') {
    for (const { environmentId, environmentName } of targets) {
      items.push(
        <MenuItem
          key={environmentId}
          icon={<MoveUpRight size={15} />}
          onSelect={() => run.promote({ environmentId, releaseId })}
        >
          Promote to {environmentName}
        </MenuItem>,
      );
    }
  }
  return (
    <>
      {/* A failed deployment has its actions beside the reason. */}
      {canRetry && deployment.state !== 'failed' ? (
        <Button
          variant="accent"
          icon={<RotateCw size={15} aria-hidden="true" />}
          pending={pending}
          title="Resumes from the step that failed."
          onClick={() => run.retry({ deploymentId })}
        >
          Retry
        </Button>
      ) : canRedeploy && !canRetry ? (
        <Button
          icon={<RotateCcw size={15} aria-hidden="true" />}
          pending={pending}
          onClick={() => run.redeploy({ deploymentId })}
        >
          Redeploy
        </Button>
      ) : null}
      {deployment.canRollBackTo && releaseId !== null ? (
        <Button
          variant="accent"
          icon={<Undo2 size={15} aria-hidden="true" />}
          pending={pending}
          title="Uses the settings and secrets it ran with, not newer ones."
          onClick={() => run.rollBack({ appId: deployment.appId, environmentId: deployment.environmentId, releaseId })}
        >
          Roll back to this
        </Button>
      ) : null}
      {deployment.canCancel ? (
        <Button
          icon={<CircleStop size={15} aria-hidden="true" />}
          pending={cancel.pending || deployment.cancelRequestedAt !== null}
          onClick={() => cancel.run({ deploymentId })}
        >
          {deployment.cancelRequestedAt === null ? 'Cancel' : 'Cancelling'}
        </Button>
      ) : null}
      {items.length === 0 ? null : (
        <Menu
          label="More actions"
          trigger={(trigger) => (
            <IconButton {...trigger} label="More actions">
              <Ellipsis size={18} aria-hidden="true" />
            </IconButton>
          )}
        >
          {items}
        </Menu>
      )}
    </>
  );
}

/** Calls that start another deployment and open its page. */
export function useDeploymentCalls() {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const open = ({ deploymentId }: { readonly deploymentId: string }) => router.push(paths.deployment(deploymentId));
  const redeploy = useAction(
    useMutation(trpc.deployment.redeploy.mutationOptions()),
    "The deployment wasn't started",
    open,
  );
  const retry = useAction(
    useFreshMutation(trpc.deployment.retry.mutationOptions()),
    "The deployment wasn't retried",
    open,
  );
  const rollBack = useAction(
    useFreshMutation(trpc.deployment.rollback.mutationOptions()),
    "The rollback wasn't started",
    open,
  );
  const promote = useAction(
    useMutation(trpc.deployment.promote.mutationOptions()),
    "The release wasn't promoted",
    open,
  );
  return {
    run: { redeploy: redeploy.run, retry: retry.run, rollBack: rollBack.run, promote: promote.run },
    pending: redeploy.pending || retry.pending || rollBack.pending || promote.pending,
  };
}

/** Returns the other environments of the app where the reader may deploy. */
function usePromotionTargets(deployment: DeploymentDetail) {
  const { can } = useMe();
  const placements =
    useQuery(useTRPC().app.get.queryOptions({ slug: deployment.appSlug, environmentId: deployment.environmentId })).data
      ?.placements ?? [];
  return placements.filter(
    ({ environmentId }) =>
      environmentId !== deployment.environmentId &&
      can('deployment.write', { projectId: deployment.projectId, environmentId }),
  );
}
