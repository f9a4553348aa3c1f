'use client';
// Uploads the folder, if any, creates the app in one call, and opens its first deployment or shows its deploy key.
import { fromScpForm } from '@fairlead/core/source/rules';
import { useMutation } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useRef, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import type { DeployKeyStepProps } from './deploy-key-step.tsx';
import { fieldOfNewApp, formErrors, type NewAppErrors } from './form-errors.ts';
import { type PickedSource, type UploadProgress, uploadFolder } from './upload-folder.ts';

export type NewApp = Inputs['app']['create'];

export interface CreateApp {
  readonly pending: boolean;
  readonly errors: NewAppErrors;
  /** Progress of the upload; null before and after it. */
  readonly progress: UploadProgress | null;
  /** `folder`: source of an uploaded app. */
  readonly run: (app: NewApp, folder: PickedSource | null) => void;
}

interface Order {
  readonly app: NewApp;
  readonly folder: PickedSource | null;
}

export function useCreateApp(onKey: (step: DeployKeyStepProps) => void): CreateApp {
  const { organization, paths } = useMe();
  const router = useRouter();
  const [progress, setProgress] = useState<UploadProgress | null>(null);
  const uploaded = useRef<{ readonly folder: PickedSource; readonly uploadDigest: string } | null>(null);
  // Drops the typed password from the cache as soon as it was sent.
  const { mutateAsync } = useFreshMutation(useTRPC().app.create.mutationOptions({ gcTime: 0 }));

  /** Uploads a folder once: a retry after a correction reuses the upload. */
  const upload = async (folder: PickedSource, { environmentId }: NewApp): Promise<{ uploadDigest: string }> => {
    const known = uploaded.current;
    if (known?.folder === folder) return { uploadDigest: known.uploadDigest };
    const target = { organization: organization.slug, environmentId };
    const uploadDigest = await uploadFolder(folder, target, setProgress);
    uploaded.current = { folder, uploadDigest };
    return { uploadDigest };
  };
  const create = useMutation({
    mutationFn: async ({ app, folder }: Order) =>
      mutateAsync(folder === null ? app : { ...app, firstDeploy: await upload(folder, app) }),
    gcTime: 0,
    onSettled: () => setProgress(null),
  });
  const failure = create.error === null || wasCancelled(create.error) ? null : readFailure(create.error);
  return {
    pending: create.isPending,
    errors: formErrors(failure, fieldOfNewApp),
    progress,
    run: (app, folder) =>
      create.mutate(
        { app, folder },
        {
          onSuccess: ({ id, slug, deploymentId, publicKey }) => {
            if (publicKey !== null && app.source.kind === 'git') {
              return onKey({ appId: id, slug, publicKey, repositoryUrl: fromScpForm(app.source.repositoryUrl) });
            }
            router.push(deploymentId === null ? paths.app(slug) : paths.deployment(deploymentId));
          },
          onError: (error) => {
            // Unused uploads are deleted after a day.
            if (readFailure(error).code === 'artifact.not_found') uploaded.current = null;
          },
        },
      ),
  };
}
