'use client';
// Creates an app with its first deployment, then opens the deployment or asks for the deploy key to be added.
import { fromScpForm } from '@fairlead/core/source/rules';
import { useToast } from '@fairlead/ui/toast';
import { useMutation } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { type Failure, readFailure } from '../../api/failure.ts';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import type { DeployKeyStepProps } from './deploy-key-step.tsx';
import { makeApp, type NewApp } from './make-app.ts';
import { type PickedSource, type UploadProgress, uploadFolder } from './upload-folder.ts';

export interface CreateApp {
  readonly pending: boolean;
  readonly failure: Failure | null;
  /** Progress of the upload; null before and after it. */
  readonly progress: UploadProgress | null;
  readonly run: (app: NewApp) => void;
  /** Returns the first deployment of an app that is uploaded. */
  readonly uploadOf: (source: PickedSource) => (appId: string) => Promise<string>;
}

export function useCreateApp(onKey: (step: DeployKeyStepProps) => void): CreateApp {
  const { organization, paths } = useMe();
  const trpc = useTRPC();
  const client = useTRPCClient();
  const router = useRouter();
  const toast = useToast();
  const [progress, setProgress] = useState<UploadProgress | null>(null);
  // Drops the typed password from the cache as soon as it was sent.
  const { mutateAsync: setPassword } = useFreshMutation(trpc.credential.update.mutationOptions({ gcTime: 0 }));
  const { mutateAsync: makeKey } = useFreshMutation(trpc.credential.rotateKey.mutationOptions());
  const create = useMutation({
    mutationFn: (app: NewApp) => makeApp(client, { setPassword, makeKey }, app),
    gcTime: 0,
    onSettled: () => setProgress(null),
  });
  return {
    pending: create.isPending,
    failure: create.error === null ? null : readFailure(create.error),
    progress,
    uploadOf: (source) => (appId) => uploadFolder(source, { organization: organization.slug, appId }, setProgress),
    run: (app) =>
      create.mutate(app, {
        onSuccess: ({ appId, slug, deploymentId, publicKey, left }) => {
          if (publicKey !== null) {
            return onKey({ appId, slug, publicKey, repositoryUrl: fromScpForm(app.app.repositoryUrl ?? '') });
          }
          if (left !== null) {
            const detail = `${readFailure(left).message} Finish it in its settings, then press Deploy.`;
            toast({ tone: 'warn', title: 'App created, but not deployed', detail });
          }
          router.push(deploymentId === null ? paths.app(slug) : paths.deployment(deploymentId));
        },
      }),
  };
}
