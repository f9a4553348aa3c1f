'use client';
// Uploads a new version of an app that is deployed from uploaded folders.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useMutation } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPCClient } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { FolderField, UploadMeter } from './folder-field.tsx';
import { type PickedSource, type UploadProgress, uploadFolder } from './upload-folder.ts';

export function UploadDialog({ app, onClose }: { readonly app: AppDetail; readonly onClose: () => void }) {
  const { organization, paths } = useMe();
  const client = useTRPCClient();
  const router = useRouter();
  const [picked, setPicked] = useState<PickedSource | null>(null);
  const [progress, setProgress] = useState<UploadProgress | null>(null);
  const placement = { appId: app.id, environmentId: app.environmentId };
  const upload = useMutation({
    mutationFn: async (source: PickedSource) => {
      const target = { organization: organization.slug, ...placement };
      const uploadDigest = await uploadFolder(source, target, setProgress);
      return client.deployment.create.mutate({ ...placement, uploadDigest });
    },
    onSettled: () => setProgress(null),
    onSuccess: ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Upload a folder to ${app.name}`}
      detail={`It is built and goes live in ${app.environmentName}.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="accent"
            pending={upload.isPending}
            disabled={picked === null}
            onClick={() => {
              if (picked !== null) upload.mutate(picked);
            }}
          >
            Upload and deploy
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <FolderField value={picked} onValue={setPicked} />
        <UploadMeter progress={progress} />
        {upload.error === null ? null : <ErrorNote>{readFailure(upload.error).message}</ErrorNote>}
      </div>
    </Dialog>
  );
}
