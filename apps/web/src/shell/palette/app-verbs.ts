'use client';
// Verbs of the palette for an app: they open one of its pages, or change it after a confirmation.
import { useMutation } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppSummary } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { type MeView, type Permission, useMe } from '../../common/organization/me.tsx';

export interface AppVerb {
  readonly id: 'deploy' | 'restart' | 'logs' | 'rollback' | 'variables';
  /** Title below an app. */
  readonly title: string;
  /** Title before an app is chosen. */
  readonly ofAnyApp: string;
  readonly keywords: readonly string[];
  readonly needs?: Permission;
  /** Id of the app's page that it opens; undefined if it changes the app. */
  readonly page?: string;
  readonly isOffered: (app: AppSummary, me: MeView) => boolean;
}

/** Question that a side effect asks first. */
export interface Confirmation {
  readonly title: string;
  readonly action: string;
  readonly run: () => void;
}

const always = () => true;
const mayDeploy = (app: AppSummary, { can }: MeView) => can('deployment.write', app);

export const appVerbs: readonly AppVerb[] = [
  {
    id: 'logs',
    title: 'Logs',
    ofAnyApp: 'Logs of an app',
    keywords: ['logs', 'output'],
    needs: 'log.read',
    page: 'logs',
    isOffered: always,
  },
  {
    id: 'variables',
    title: 'Environment variables',
    ofAnyApp: 'Environment variables of an app',
    keywords: ['env', 'secret', 'secrets', 'variables'],
    needs: 'secret.read',
    page: 'variables',
    isOffered: always,
  },
  {
    id: 'deploy',
    title: 'Deploy',
    ofAnyApp: 'Deploy an app',
    keywords: ['redeploy', 'build', 'release'],
    needs: 'deployment.write',
    isOffered: mayDeploy,
  },
  {
    id: 'restart',
    title: 'Restart',
    ofAnyApp: 'Restart an app',
    keywords: ['reboot'],
    needs: 'deployment.write',
    isOffered: (app, me) => mayDeploy(app, me) && app.liveRelease !== null,
  },
  {
    id: 'rollback',
    title: 'Roll back',
    ofAnyApp: 'Roll back an app',
    keywords: ['rollback', 'revert', 'releases'],
    needs: 'deployment.write',
    page: 'releases',
    isOffered: mayDeploy,
  },
];

export function useAppVerbs(): { readonly confirm: (verb: AppVerb, app: AppSummary) => Confirmation } {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const open = ({ deploymentId }: { readonly deploymentId: string }) => router.push(paths.deployment(deploymentId));
  const deploy = useAction(useMutation(trpc.deployment.create.mutationOptions()), "The app wasn't deployed", open);
  const restart = useAction(useMutation(trpc.deployment.restart.mutationOptions()), "The app wasn't restarted", open);
  return {
    confirm: (verb, app) => {
      const { id: appId, environmentId, environmentName } = app;
      const title = `${verb.title} ${app.name}`;
      return {
        title,
        action: verb.id === 'deploy' ? `Deploy to ${environmentName}` : `${verb.title} in ${environmentName}`,
        run: () => (verb.id === 'deploy' ? deploy : restart).run({ appId, environmentId }),
      };
    },
  };
}
