'use client';
// Deployment URLs of an app in an environment: their addresses, or the reason why there are none.
import { buttonClass } from '@fairlead/ui/button';
import { cn } from '@fairlead/ui/lib/class-names';
import { skipToken, useQuery } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentUrls } from '../../api/types.ts';

const REASONS: Readonly<Record<NonNullable<DeploymentUrls['reason']>, string>> = {
  off: 'Deployment URLs are off in the settings of this app.',
  no_base_domain: 'No deployment URLs: the first server of this app has no base domain.',
  no_wildcard:
    'No deployment URLs: they need a wildcard certificate. Add a DNS provider for the zone of the base domain.',
  conflict: 'No deployment URLs: another organization has verified the base domain.',
  redirected: "No deployment URLs: the app's name below the base domain is a redirect.",
  drained: 'No deployment URLs: the first server of this app is drained.',
  agent_lacks: "No deployment URLs: the agent of the app's first server is too old. Upgrade it.",
};

export interface PlacementOfUrls {
  readonly appId: string;
  readonly environmentId: string;
}

export interface DeploymentUrlView {
  /** Sentence about all releases; null while it loads. */
  readonly sentence: string | null;
  /** Returns null for a release without one. */
  readonly urlOf: (releaseId: string | null) => string | null;
}

/** Null: no query. */
export function useDeploymentUrls(placement: PlacementOfUrls | null): DeploymentUrlView {
  const trpc = useTRPC();
  const { data } = useQuery(trpc.release.listUrls.queryOptions(placement ?? skipToken));
  const urls = new Map(data?.urls.map(({ releaseId, url }) => [releaseId as string, url]));
  return {
    sentence: data === undefined ? null : sentenceOf(data),
    urlOf: (releaseId) => urls.get(releaseId ?? '') ?? null,
  };
}

function sentenceOf({ reason }: DeploymentUrls): string {
  return reason === null ? 'The last 10 releases have a deployment URL.' : REASONS[reason];
}

export interface VisitLinkProps {
  readonly url: string;
  /** Name of what it opens, for screen readers. */
  readonly label: string;
  readonly className?: string;
}

export function VisitLink({ url, label, className }: VisitLinkProps) {
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer"
      title={url.replace('https://', '')}
      aria-label={`Visit ${label}`}
      className={cn(buttonClass('ghost', 'small', 'gap-1.5'), className)}
    >
      <ExternalLink size={14} aria-hidden="true" />
      Visit
    </a>
  );
}
