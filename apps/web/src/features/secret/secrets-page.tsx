'use client';
// Secrets of an app: values, pending changes, names that its code misses, and shared groups.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox } from '@fairlead/ui/input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { StateMark } from '@fairlead/ui/state-pill';
import { useMutation, useQuery } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, AppSecrets } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { MissingNames } from './missing-names.tsx';
import { SecretRows } from './secret-rows.tsx';
import { useRefetchSecrets } from './use-secret-calls.ts';

export function SecretsPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { app } = useAppInEnvironment(slug, initial);
  const placement = { appId: app.id, environmentId: app.environmentId };
  const secrets = useQuery(useTRPC().secret.list.queryOptions(placement));
  return (
    <QueryView query={secrets} skeleton={<Skeleton className="h-72" />}>
      {(view) => (
        <div className="flex flex-col gap-6">
          <Pending placement={placement} view={view} />
          <MissingNames owner={placement} view={view} />
          <Card>
            <CardHeader title="Secrets" detail="Encrypted at rest, and separately for each server" />
            {view.secrets.length === 0 ? (
              <EmptyState icon={<KeyRound size={20} />} title="No secrets yet">
                Keys and passwords that the app needs and that don't belong in its repository.
              </EmptyState>
            ) : null}
            <SecretRows key={placement.environmentId} owner={placement} secrets={view.secrets} />
          </Card>
          <Groups placement={placement} view={view} />
        </div>
      )}
    </QueryView>
  );
}

const changeWord = { added: 'new', changed: 'changed', removed: 'deleted' } as const;

interface PartProps {
  readonly placement: Pick<AppDetail, 'environmentId'> & { readonly appId: AppDetail['id'] };
  readonly view: AppSecrets;
}

/** Pending changes and the two ways to apply them. */
function Pending({ placement, view }: PartProps) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const apply = useAction(
    useMutation(trpc.deployment.deploySecrets.mutationOptions()),
    "The secrets weren't applied",
    ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  );
  const changes = view.changes ?? [];
  return (
    <>
      {view.problems.length > 0 ? <ErrorNote>{view.problems.join(' ')}</ErrorNote> : null}
      {changes.length > 0 ? (
        <section
          aria-label="Changes that are not live"
          className="flex flex-wrap items-center gap-x-4 gap-y-3 rounded-card border border-line bg-surface px-4 py-3"
        >
          <div className="min-w-0 flex-1 basis-56">
            <p className="flex items-center gap-2 font-medium">
              <StateMark tone="warn" />
              {changes.length} {changes.length === 1 ? 'change is' : 'changes are'} not live yet
            </p>
            <p className="wrap-anywhere text-sm text-ink-faint">
              {changes
                .slice(0, 6)
                .map(({ name, kind }) => `${name} (${changeWord[kind]})`)
                .join(', ')}
              {changes.length > 6 ? ` and ${changes.length - 6} more` : ''}. The next deployment applies them. Apply
              them now to start new instances, which take over when they are healthy.
            </p>
          </div>
          {can('deployment.write') ? (
            <Button
              variant="accent"
              pending={apply.pending}
              disabled={view.problems.length > 0}
              onClick={() => apply.run(placement)}
            >
              Apply now
            </Button>
          ) : null}
        </section>
      ) : null}
    </>
  );
}

function Groups({ placement: { appId }, view }: PartProps) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const refetch = useRefetchSecrets();
  const attach = useAction(
    useMutation(trpc.secret.attachGroup.mutationOptions()),
    "The group wasn't attached",
    refetch,
  );
  const detach = useAction(
    useMutation(trpc.secret.detachGroup.mutationOptions()),
    "The group wasn't detached",
    refetch,
  );
  return (
    <Card>
      <CardHeader
        title="Shared groups"
        detail={
          <HoverLink href={paths.sharedSecrets} className="underline">
            Edit shared groups
          </HoverLink>
        }
      />
      {view.groups.length === 0 ? (
        <p className="border-line border-t px-4 py-4 text-sm text-ink-faint">No shared groups in this project yet.</p>
      ) : (
        <ul>
          {view.groups.map((group) => (
            <li key={group.id} className="flex min-h-12 flex-wrap items-center gap-x-4 border-line border-t px-4 py-2">
              <Checkbox
                label={<span className="font-medium">{group.name}</span>}
                checked={group.attached}
                disabled={!can('secret.write') || attach.pending || detach.pending}
                onChange={() => (group.attached ? detach : attach).run({ appId, groupId: group.id })}
              />
              <span className="min-w-0 flex-1 truncate font-mono text-ink-faint text-sm">{group.names.join(', ')}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
