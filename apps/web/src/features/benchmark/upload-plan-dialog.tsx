'use client';
// Saves a plan from a file, such as fairlead.bench.json of a repository.
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs } from '../../api/types.ts';
import { DocumentDialog } from './document-dialog.tsx';
import { PLAN_FILE } from './plan-document.ts';

const KIBIBYTES_MAX = 256;

export function UploadPlanDialog({ onClose }: { readonly onClose: () => void }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const upload = useMutation(trpc.benchmarkPlan.upload.mutationOptions());
  const send = (appId: string, content: unknown) => {
    const document = content as Inputs['benchmarkPlan']['upload']['document'];
    upload.mutate(
      { appId, document },
      {
        onSuccess: () => {
          toast({ title: 'Plan saved' });
          void queryClient.invalidateQueries(trpc.benchmarkPlan.pathFilter());
          onClose();
        },
      },
    );
  };
  return (
    <DocumentDialog
      title="Upload plan"
      detail={
        <>
          A JSON file that a repository can hold, usually named <code className="font-mono">{PLAN_FILE}</code>.
        </>
      }
      kibibytesMax={KIBIBYTES_MAX}
      pending={upload.isPending}
      error={upload.error}
      onUpload={send}
      onClose={onClose}
    />
  );
}
