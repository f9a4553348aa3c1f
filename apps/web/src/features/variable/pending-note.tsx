'use client';
// Changes of variables that the live release doesn't have yet, and the button that deploys them.
import { Button } from '@fairlead/ui/button';
import { useFormats } from '@fairlead/ui/formats';
import { StateMark } from '@fairlead/ui/state-pill';
import { useMutation } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { VariableList } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import type { PendingChanges } from './rows.ts';
import type { PlacementOwner } from './use-variable-calls.ts';

const NAMED = 6;
const changeWord = { added: 'new', changed: 'changed', removed: 'deleted' } as const;

export interface PendingNoteProps {
  readonly placement: PlacementOwner;
  readonly pending: PendingChanges;
  readonly liveDeploymentId: VariableList['liveDeploymentId'];
  /** True if the secrets don't fit together, so that no deployment could start. */
  readonly blocked: boolean;
}

export function PendingNote({ placement, pending, liveDeploymentId, blocked }: PendingNoteProps) {
  const { plural } = useFormats();
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const open = ({ deploymentId }: { readonly deploymentId: string }) => router.push(paths.deployment(deploymentId));
  const failed = "The variables weren't deployed";
  const apply = useAction(useFreshMutation(trpc.deployment.deploySecrets.mutationOptions()), failed, open);
  const redeploy = useAction(useMutation(trpc.deployment.redeploy.mutationOptions()), failed, open);
  const deploy = useAction(useMutation(trpc.deployment.create.mutationOptions()), failed, open);
  const { changes, secretsOnly } = pending;
  if (changes.length === 0) return null;
  const run = () => {
    if (secretsOnly) apply.run(placement);
    else if (liveDeploymentId === null) deploy.run(placement);
    else redeploy.run({ deploymentId: liveDeploymentId });
  };
  return (
    <section
      aria-label="Changes that are not live"
      className="flex flex-wrap items-center gap-x-4 gap-y-3 rounded-card border border-line bg-surface px-4 py-3"
    >
      <div className="min-w-0 flex-1 basis-56">
        <p className="flex items-center gap-2 font-medium">
          <StateMark tone="warn" />
          {plural(changes.length, 'change is', 'changes are')} not live yet
        </p>
        <p className="wrap-anywhere text-sm text-ink-faint">
          {changes
            .slice(0, NAMED)
            .map(({ name, kind }) => `${name} (${changeWord[kind]})`)
            .join(', ')}
          {changes.length > NAMED ? ` and ${changes.length - NAMED} more` : ''}.{' '}
          {secretsOnly
            ? 'The next deployment applies them. Apply them now to start new instances, which take over when they are healthy.'
            : 'The next deployment applies them. Deploy them now to build the live commit again with them.'}
        </p>
      </div>
      {can('deployment.write') ? (
        <Button
          variant="accent"
          pending={apply.pending || redeploy.pending || deploy.pending}
          disabled={blocked}
          onClick={run}
        >
          {secretsOnly ? 'Apply now' : 'Deploy changes'}
        </Button>
      ) : null}
    </section>
  );
}
