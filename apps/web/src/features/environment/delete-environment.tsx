'use client';
// Deletes an environment without apps: asks for its name and lists what is deleted with it.
import { IconButton } from '@fairlead/ui/button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Environment } from '../../api/types.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';

export function DeleteEnvironment({ environment }: { readonly environment: Environment }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [open, setOpen] = useState(false);
  const end = useMutation(trpc.environment.delete.mutationOptions());
  const { id: environmentId, name } = environment;
  return (
    <>
      <IconButton label={`Delete ${name}`} onClick={() => setOpen(true)}>
        <Trash2 size={16} aria-hidden="true" />
      </IconButton>
      <ConfirmDelete
        open={open}
        onClose={() => setOpen(false)}
        what="environment"
        name={name}
        consequences="Deployments, logs, releases, settings and secrets of apps in it are deleted. Roles and tokens that apply only to it are deleted too. Volumes stay on their servers until you delete them. This can't be undone."
        pending={end.isPending}
        error={end.error}
        onConfirm={(confirmName) =>
          end.mutate(
            { environmentId, confirmName },
            {
              onSuccess: () => {
                toast({ title: `${name} is deleted` });
                setOpen(false);
                void queryClient.invalidateQueries(trpc.environment.pathFilter());
              },
            },
          )
        }
      />
    </>
  );
}
