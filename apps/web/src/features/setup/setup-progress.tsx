'use client';
// Progress of the first server and app after the account is created. The reader need not wait for it.
import { buttonClass } from '@fairlead/ui/button';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Overview } from '../../api/types.ts';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { pathsOf } from '../../common/organization/paths.ts';
import { type SetupStep, SetupSteps } from './setup-steps.tsx';

/** Poll interval in milliseconds: there is no organization page yet that has a live stream. */
const ASK_EVERY_MS = 1500;

export function SetupProgress({ organization }: { readonly organization: string }) {
  const trpc = useTRPC();
  const paths = pathsOf(organization);
  const overview = useQuery({ ...trpc.overview.get.queryOptions({}), refetchInterval: ASK_EVERY_MS }).data;
  const server = overview === undefined ? null : serverStep(overview);
  const app = overview === undefined ? null : appStep(overview);
  const done = server?.state === 'done' && app?.state === 'done';
  return (
    <IdentityFrame
      title={done ? "You're all set" : "You're in"}
      lead={done ? 'Your first app is live on your own server.' : "The rest starts by itself. You don't have to wait."}
      aside={<SetupSteps account="done" server={server} app={app} />}
    >
      {/* A full page load: the dashboard starts with its own cache and stream. */}
      <a href={paths.overview} className={buttonClass('accent', 'large')}>
        Open the dashboard
      </a>
    </IdentityFrame>
  );
}

function serverStep({ servers }: Overview): SetupStep {
  const online = servers.find((server) => server.state === 'online');
  if (online !== undefined) return { state: 'done', title: `Server ${online.name} is connected`, detail: null };
  return servers.length > 0
    ? { state: 'running', title: 'The server connects', detail: 'Its agent starts.' }
    : { state: 'pending', title: 'A server', detail: 'Add one in the dashboard under Servers.' };
}

function appStep({ apps }: Overview): SetupStep {
  const live = apps.find((app) => app.liveRelease !== null);
  if (live !== undefined) {
    const link =
      live.url === null ? null : (
        <a href={live.url} target="_blank" rel="noreferrer" className="font-mono text-sm text-ink hover:underline">
          {live.url.replace(/^https?:\/\//, '')}
        </a>
      );
    return { state: 'done', title: `${live.name} is live`, detail: link };
  }
  const [first] = apps;
  if (first === undefined)
    return { state: 'pending', title: 'A first app', detail: 'Create one in the dashboard under Apps.' };
  if (first.status === 'failed') {
    return {
      state: 'failed',
      title: `${first.name} didn't deploy`,
      detail: 'See its deployment in the dashboard.',
    };
  }
  return {
    state: 'running',
    title: `${first.name} is being deployed`,
    detail: 'Clone, build, health check, then live.',
  };
}
