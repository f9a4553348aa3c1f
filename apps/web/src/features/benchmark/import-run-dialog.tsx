'use client';
// Imports a run that was measured elsewhere, from the file of *Download rows*.
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { DocumentDialog } from './document-dialog.tsx';

/** A request has at most 1 MiB, the file included. */
const KIBIBYTES_MAX = 1000;

export function ImportRunDialog({ onClose }: { readonly onClose: () => void }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  const upload = useMutation(trpc.benchmark.import.mutationOptions());
  const send = (appId: string, document: unknown) =>
    upload.mutate(
      { appId, document },
      {
        onSuccess: ({ runId, isNew }) => {
          toast({ title: isNew ? 'Run imported' : 'This app already has this run' });
          void queryClient.invalidateQueries(trpc.benchmark.list.pathFilter());
          router.push(paths.benchmark(runId));
        },
      },
    );
  return (
    <DocumentDialog
      title="Import run"
      detail="A file of Download rows, from this or another Fairlead. The run is marked as imported, because it was measured elsewhere."
      kibibytesMax={KIBIBYTES_MAX}
      pending={upload.isPending}
      error={upload.error}
      onUpload={send}
      onClose={onClose}
    />
  );
}
