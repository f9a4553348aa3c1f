'use client';
// Banner on every page of an organization that is scheduled for deletion: the date, and how to keep it.
import { Button } from '@fairlead/ui/button';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateMark } from '@fairlead/ui/state-pill';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../api/trpc.tsx';
import { useAction } from '../common/form/use-action.ts';
import { useFreshMutation } from '../common/identity/confirm-identity.tsx';
import { useMe } from '../common/organization/me.tsx';

export function DeletionBanner() {
  const { organization, can } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const keep = useAction(
    useFreshMutation(trpc.organization.restore.mutationOptions()),
    "The deletion wasn't cancelled",
    () => router.refresh(),
  );
  if (organization.deleteAt === null) return null;
  return (
    <section
      aria-label="Deletion"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 border-line border-b bg-bad-wash px-4 py-2 sm:px-8"
    >
      <StateMark tone="bad" shape="bang" />
      <p className="min-w-0 flex-1 basis-56 text-bad-text">
        {organization.name} will be deleted with all its data <RelativeTime at={organization.deleteAt} />.
      </p>
      {can('organization.delete') ? (
        <Button size="small" pending={keep.pending} onClick={() => keep.run()}>
          Cancel deletion
        </Button>
      ) : null}
    </section>
  );
}
