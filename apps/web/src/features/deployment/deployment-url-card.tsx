'use client';
// Deployment URL of a live or former deployment, or one sentence why it has none.
import { Card } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import type { DeploymentDetail } from '../../api/types.ts';
import { useDeploymentUrls, VisitLink } from '../../common/deployment/deployment-url.tsx';

export function DeploymentUrlCard({ deployment }: { readonly deployment: DeploymentDetail }) {
  const isServed = deployment.state === 'live' && deployment.releaseId !== null;
  const { sentence, urlOf } = useDeploymentUrls(isServed ? deployment : null);
  if (!isServed || sentence === null) return null;
  const url = urlOf(deployment.releaseId);
  return (
    <Card className="p-4" aria-label="Deployment URL">
      <h2 className="font-semibold text-lg">Deployment URL</h2>
      {url === null ? (
        <p className="mt-1 text-pretty text-ink-faint text-sm">{sentence}</p>
      ) : (
        <>
          <p className="mt-1 break-all font-mono text-sm">{url.replace('https://', '')}</p>
          <p className="mt-1 text-pretty text-ink-faint text-sm">
            {deployment.isCurrent
              ? 'Always opens this release, even after the next deployment.'
              : 'Sleeps until it is requested. It runs without volumes and workers, with the secrets of its release.'}
          </p>
          <p className="-ml-2 mt-2 flex items-center gap-1">
            <VisitLink url={url} label={`#${deployment.number}`} />
            <CopyButton value={url} label="Copy deployment URL" />
          </p>
        </>
      )}
    </Card>
  );
}
