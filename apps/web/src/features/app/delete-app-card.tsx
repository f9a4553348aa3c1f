'use client';
// Deletes an app by its name, and offers to undo it. Until its purge the app can also be restored on the page of deleted apps.
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { RemovalCard } from './removal-card.tsx';
import { useRestoreApp } from './use-restore-app.ts';

export function DeleteAppCard({ app }: { readonly app: AppDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  const remove = useMutation(trpc.app.delete.mutationOptions());
  const restore = useRestoreApp();
  const { id: appId, name } = app;
  return (
    <RemovalCard
      heading="Delete app"
      summary="It stops immediately. You can restore it for seven days, then it is deleted permanently."
      button={`Delete ${name}`}
      name={name}
      consequences={<Consequences />}
      pending={remove.isPending}
      error={remove.error}
      onConfirm={(confirmName, close) =>
        remove.mutate(
          { appId, confirmName },
          {
            onSuccess: () => {
              close();
              void queryClient.invalidateQueries(trpc.app.pathFilter());
              toast({
                tone: 'warn',
                title: `${name} is deleted`,
                detail: 'You can restore it for seven days under “Recently deleted”.',
                action: { label: 'Undo', onSelect: () => restore.run({ appId }) },
              });
              router.push(paths.apps);
            },
          },
        )
      }
    />
  );
}

function Consequences() {
  return (
    <ul className="list-disc space-y-1 pl-5">
      <li>The app stops immediately in all of its environments, and visitors get an error.</li>
      <li>Running deployments are cancelled.</li>
      <li>
        For seven days you can restore it with its settings, secrets, domains, deployments and volumes. Its name and its
        host names stay reserved until then.
      </li>
      <li>Then everything except its volumes is deleted permanently.</li>
    </ul>
  );
}
