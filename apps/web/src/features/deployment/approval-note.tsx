'use client';
// Approval status of a deployment to a protected environment, with its approve and reject buttons.
import { Button } from '@fairlead/ui/button';
import { StateMark } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Check, X } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentDetail } from '../../api/types.ts';
import { remainsText } from '../../common/deployment/failure.ts';
import { nameOfRequester } from '../../common/deployment/states.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';

export function ApprovalNote({ deployment }: { readonly deployment: DeploymentDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const refresh = () => void queryClient.invalidateQueries(trpc.deployment.pathFilter());
  const approve = useAction(
    useFreshMutation(trpc.deployment.approve.mutationOptions()),
    "The deployment wasn't approved",
    () => {
      refresh();
      toast({ title: 'Approved', detail: 'It starts now.' });
    },
  );
  const refuse = useAction(
    useMutation(trpc.deployment.refuse.mutationOptions()),
    "The deployment wasn't rejected",
    () => {
      refresh();
      toast({ tone: 'warn', title: 'Rejected', detail: `Cancelled. ${remainsText(deployment)}` });
    },
  );
  const { approval, environmentName, ref } = deployment;
  if (approval?.state !== 'pending') return null;
  const mayDecide = !approval.isOwn && can('deployment.approve', deployment);
  const input = { deploymentId: deployment.id };
  return (
    <section
      aria-label="Approval"
      className="mb-6 flex flex-wrap items-center gap-x-3 gap-y-3 rounded-card bg-warn-wash px-4 py-3.5"
    >
      <StateMark tone="warn" />
      <div className="min-w-0 flex-1 basis-72">
        <h2 className="font-semibold text-warn-text">Waiting for approval by another member</h2>
        <p className="mt-0.5 text-pretty text-ink">
          {environmentName} is protected.{' '}
          {approval.isOwn
            ? 'You requested this deployment, so another member who may approve deployments must decide.'
            : mayDecide
              ? `${nameOfRequester(deployment)} requested to deploy ${ref || 'the default branch'}. It starts when you approve it.`
              : 'A member who may approve deployments must decide.'}
        </p>
      </div>
      {mayDecide ? (
        <span className="flex gap-2">
          <Button
            variant="danger-outline"
            icon={<X size={15} aria-hidden="true" />}
            pending={refuse.pending}
            onClick={() => refuse.run(input)}
          >
            Reject
          </Button>
          <Button
            variant="accent"
            icon={<Check size={15} aria-hidden="true" />}
            pending={approve.pending}
            onClick={() => approve.run(input)}
          >
            Approve
          </Button>
        </span>
      ) : null}
    </section>
  );
}
