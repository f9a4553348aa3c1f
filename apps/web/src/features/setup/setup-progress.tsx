'use client';
// Set-up after the account is created: the dashboard's domain, which can be skipped, and the progress of the first server and app.
import { buttonClass } from '@fairlead/ui/button';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { DashboardDomains, Overview } from '../../api/types.ts';
import { useDashboardDomains } from '../../common/dashboard-domain/use-dashboard-domains.ts';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { TrustLocalHttps } from '../../common/local-ca/trust-local-https.tsx';
import { pathsOf } from '../../common/organization/paths.ts';
import { domainWords, SetupDomain } from './setup-domain.tsx';
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
  const { data: domains, isPending } = useDashboardDomains();
  const [isLater, setIsLater] = useState(false);
  const aside = (
    <SetupSteps
      account="done"
      domain={domains === undefined ? null : domainStep(domains, isLater)}
      server={server}
      app={app}
    />
  );
  if (isPending)
    return (
      <IdentityFrame title="Account created" lead="Loading the next step." aside={aside}>
        {null}
      </IdentityFrame>
    );
  if (domains?.reach === 'served' && !isLater) {
    return (
      <IdentityFrame {...domainWords(domains)} aside={aside}>
        <SetupDomain organization={organization} domains={domains} onLater={() => setIsLater(true)} />
      </IdentityFrame>
    );
  }
  return (
    <IdentityFrame
      title={done ? "You're all set" : "You're in"}
      lead={
        done
          ? 'Your first app is live on your own server.'
          : "Setup continues in the background. You don't have to wait."
      }
      aside={aside}
    >
      {/* A full page load: the dashboard starts with its own cache and stream. */}
      <a href={paths.overview} className={buttonClass('accent', 'large')}>
        Open the dashboard
      </a>
    </IdentityFrame>
  );
}

function domainStep({ reach, items }: DashboardDomains, isLater: boolean): SetupStep {
  if (reach === 'local')
    return { state: 'skipped', title: 'A domain', detail: 'This dashboard is reachable only from this machine.' };
  if (reach === 'reverse_proxy')
    return { state: 'skipped', title: 'A domain', detail: 'Your reverse proxy serves the dashboard.' };
  const [domain] = items;
  if (domain === undefined)
    return isLater
      ? { state: 'skipped', title: 'A domain', detail: 'Add one later under Settings, Control plane, Domains.' }
      : { state: 'current', title: 'A domain', detail: 'With a certificate that browsers trust.' };
  return domain.answeredAt === null
    ? { state: 'running', title: domain.host, detail: 'DNS records, certificate, first answer.' }
    : { state: 'done', title: `${domain.host} answers`, detail: null };
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
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <a href={live.url} target="_blank" rel="noreferrer" className="font-mono text-sm text-ink hover:underline">
            {live.url.replace(/^https?:\/\//, '')}
          </a>
          <TrustLocalHttps url={live.url} serverId={live.serverId} />
        </span>
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
