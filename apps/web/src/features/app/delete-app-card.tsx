'use client';
// Deletes an app by its name, and offers to undo it. Until its purge the app can also be restored on the page of deleted apps.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { useRestoreApp } from './use-restore-app.ts';

export function DeleteAppCard({ app }: { readonly app: AppDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [open, setOpen] = useState(false);
  const remove = useMutation(trpc.app.delete.mutationOptions());
  const restore = useRestoreApp();
  const { id: appId, name } = app;
  return (
    <Card className="p-4">
      <h2 className="font-semibold">Delete app</h2>
      <p className="mt-1 mb-4 text-pretty text-ink-soft">
        It stops immediately. You can restore it for seven days, then it is deleted permanently.
      </p>
      <Button variant="danger-outline" onClick={() => setOpen(true)}>
        Delete {name}
      </Button>
      <ConfirmDelete
        open={open}
        onClose={() => setOpen(false)}
        what="app"
        name={name}
        consequences={<Consequences />}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={(confirmName) =>
          remove.mutate(
            { appId, confirmName },
            {
              onSuccess: () => {
                setOpen(false);
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
    </Card>
  );
}

function Consequences() {
  return (
    <ul className="list-disc space-y-1 pl-5">
      <li>The app stops immediately in all of its environments, and visitors get an error.</li>
      <li>Deployments that are under way are cancelled.</li>
      <li>
        For seven days you can restore it with its settings, secrets, domains, deployments and volumes. Its name and its
        host names stay reserved until then.
      </li>
      <li>Then everything except its volumes is deleted permanently.</li>
    </ul>
  );
}
