'use client';
// Facts of a deployment: source, author, target and duration.
import { Card } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { repositoryName, shortHash } from '@fairlead/ui/lib/format';
import { Elapsed, RelativeTime } from '@fairlead/ui/relative-time';
import type { ReactNode } from 'react';
import type { DeploymentDetail } from '../../api/types.ts';
import { decisionOf, nameOfRequester, triggerLabel } from '../../common/deployment/states.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

export function DeploymentFacts({ deployment }: { readonly deployment: DeploymentDetail }) {
  const { paths } = useMe();
  const { commitHash, serverId, startedAt } = deployment;
  const decision = decisionOf(deployment);
  return (
    <Card className="p-4">
      {deployment.commitSubject === null ? null : (
        <p className="mb-3 text-pretty font-medium">{deployment.commitSubject}</p>
      )}
      <dl className="flex flex-col gap-2">
        {commitHash === null ? null : (
          <Fact term="Commit">
            <span className="inline-flex items-center gap-1">
              <code className="font-mono text-sm">{shortHash(commitHash)}</code>
              <CopyButton value={commitHash} label="Copy full hash" className="-my-1.5" />
            </span>
          </Fact>
        )}
        {deployment.commitAuthor === null ? null : <Fact term="Author">{deployment.commitAuthor}</Fact>}
        {deployment.ref === commitHash ? null : (
          <Fact term="Branch">
            {deployment.ref === '' ? 'default' : <span className="font-mono text-sm">{deployment.ref}</span>}
          </Fact>
        )}
        {deployment.repositoryUrl === '' ? null : (
          <Fact term="Repository">
            <span className="font-mono text-sm" title={deployment.repositoryUrl}>
              {repositoryName(deployment.repositoryUrl)}
            </span>
          </Fact>
        )}
        {deployment.configNumber === null ? null : (
          <Fact term="Settings">
            <HoverLink
              href={paths.appSettings(deployment.appSlug, deployment.environmentId)}
              className="rounded-mark hover:underline"
            >
              {deployment.configNumber === 0 ? 'defaults' : `version ${deployment.configNumber}`}
            </HoverLink>
          </Fact>
        )}
        {deployment.withoutCache ? <Fact term="Cache">not used</Fact> : null}
        <Fact term="Environment">{deployment.environmentName}</Fact>
        {deployment.trigger === 'rollback' ? <Fact term="Secrets">from its release</Fact> : null}
        {deployment.trigger === 'secret' ? <Fact term="Secrets">newest, applied immediately</Fact> : null}
        {serverId === null ? null : (
          <Fact term="Server">
            <HoverLink href={paths.server(serverId)} className="rounded-mark hover:underline">
              {deployment.serverName}
            </HoverLink>
          </Fact>
        )}
        <Fact term={triggerLabel[deployment.trigger]}>by {nameOfRequester(deployment)}</Fact>
        {deployment.push === null ? null : (
          <Fact term="Delivery">
            <HoverLink href={paths.delivery(deployment.push.deliveryId)} className="rounded-mark hover:underline">
              Webhook delivery
            </HoverLink>
          </Fact>
        )}
        {decision === null ? null : <Fact term={decision.term}>by {decision.by}</Fact>}
        <Fact term="Queued">
          <RelativeTime at={deployment.queuedAt} />
        </Fact>
        {startedAt === null ? null : (
          <Fact term="Duration">
            <Elapsed from={deployment.queuedAt} until={deployment.finishedAt} className="tabular font-mono text-sm" />
          </Fact>
        )}
      </dl>
    </Card>
  );
}

function Fact({ term, children }: { readonly term: string; readonly children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-4">
      <dt className="shrink-0 text-ink-faint">{term}</dt>
      <dd className="min-w-0 truncate">{children}</dd>
    </div>
  );
}
