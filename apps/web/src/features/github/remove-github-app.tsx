'use client';
// Removes a GitHub App from the organization, after its name was typed.
import { IconButton } from '@fairlead/ui/button';
import { useToast } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { GithubApp } from '../../api/types.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

export function RemoveGithubApp({ app }: { readonly app: GithubApp }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [open, setOpen] = useState(false);
  const remove = useFreshMutation(trpc.github.deleteApp.mutationOptions());
  const { id: githubAppId, name } = app;
  return (
    <>
      <IconButton label={`Remove ${name}`} onClick={() => setOpen(true)}>
        <Trash2 size={16} aria-hidden="true" />
      </IconButton>
      <ConfirmDelete
        open={open}
        onClose={() => setOpen(false)}
        what="GitHub App"
        name={name}
        consequences="Fairlead deletes the key of this app and the list of its repositories. The app stays on GitHub until its owner deletes it there."
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() =>
          remove.mutate(
            { githubAppId },
            {
              onSuccess: () => {
                toast({ title: `${name} is removed` });
                setOpen(false);
                void queryClient.invalidateQueries(trpc.github.pathFilter());
              },
            },
          )
        }
      />
    </>
  );
}
