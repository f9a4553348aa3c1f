'use client';
// Outcome of a deployment: its address, or its failure with the next step.
import { Button, buttonClass } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { StateMark } from '@fairlead/ui/state-pill';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { TextWithCode } from '../../common/page/text-with-code.tsx';
import { useDeploymentCalls } from './deployment-actions.tsx';
import { failureText, nextStepOf, pageOfStep, stepLabel } from './next-step.ts';

export interface DeploymentOutcomeProps {
  readonly deployment: DeploymentDetail;
  /** Null while there is no log. */
  readonly onShowLine: (() => void) | null;
}

export function DeploymentOutcome({ deployment, onShowLine }: DeploymentOutcomeProps) {
  const trpc = useTRPC();
  const app = useQuery(
    trpc.app.get.queryOptions({ slug: deployment.appSlug, environmentId: deployment.environmentId }),
  ).data;
  if (deployment.state === 'failed') {
    return (
      <section role="alert" className="mb-6 flex gap-3 rounded-card bg-bad-wash px-4 py-3.5">
        <span className="mt-1">
          <StateMark tone="bad" />
        </span>
        <div className="min-w-0">
          <h2 className="font-semibold text-bad-text">The deployment failed</h2>
          <p className="wrap-anywhere mt-0.5 text-pretty text-ink">
            <TextWithCode text={failureText(deployment)} />
          </p>
          <NextStepButton deployment={deployment} onShowLine={onShowLine} />
        </div>
      </section>
    );
  }
  const url = app?.url ?? null;
  if (deployment.state !== 'live' || !deployment.isCurrent || url === null) return null;
  return (
    <section className="mb-6 flex animate-arrive items-center gap-3 rounded-card border border-line bg-surface px-4 py-4">
      <StateMark tone="live" />
      <a
        href={url}
        target="_blank"
        rel="noreferrer"
        className="min-w-0 break-all rounded-mark text-lg sm:text-xl font-semibold tracking-[-0.01em] hover:underline"
      >
        {url.replace(/^https?:\/\//, '')}
      </a>
      <CopyButton value={url} label="Copy URL" size="medium" />
    </section>
  );
}

function NextStepButton({ deployment, onShowLine }: DeploymentOutcomeProps) {
  const { can, paths } = useMe();
  const { run, pending } = useDeploymentCalls();
  const { id: deploymentId, canRetry, canRedeploy } = deployment;
  const step = nextStepOf(deployment.failureCode);
  if (step === 'again') {
    if (!can('deployment.write', deployment) || !(canRetry || canRedeploy)) return null;
    return (
      <Button
        variant="accent"
        className="mt-3"
        pending={pending}
        onClick={() => (canRetry ? run.retry({ deploymentId }) : run.redeploy({ deploymentId }))}
      >
        {stepLabel.again}
      </Button>
    );
  }
  const page = step === 'log' ? null : pageOfStep(step, paths, deployment);
  if (page !== null) {
    return (
      <HoverLink href={page} className={buttonClass('accent', 'medium', 'mt-3')}>
        {stepLabel[step]}
      </HoverLink>
    );
  }
  return onShowLine === null ? null : (
    <Button variant="accent" className="mt-3" onClick={onShowLine}>
      {stepLabel.log}
    </Button>
  );
}
