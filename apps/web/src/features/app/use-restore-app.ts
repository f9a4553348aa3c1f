'use client';
// Restores a deleted app, and reports the result as a toast.
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';

export function useRestoreApp() {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  return useAction(useMutation(trpc.app.restore.mutationOptions()), "The app wasn't restored", ({ slug }) => {
    void queryClient.invalidateQueries(trpc.app.pathFilter());
    toast({
      title: 'The app is restored',
      detail: 'Its servers start the release that was live.',
      action: { label: 'View', onSelect: () => router.push(paths.app(slug)) },
    });
  });
}
