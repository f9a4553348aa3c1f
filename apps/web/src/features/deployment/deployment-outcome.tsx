'use client';
// Outcome of a deployment: its address, or its failure with the next step.
import { Button, buttonClass } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import type { LogViewLine } from '@fairlead/ui/lib/log-lines';
import { StateMark } from '@fairlead/ui/state-pill';
import { useQuery } from '@tanstack/react-query';
import { RotateCw } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentDetail } from '../../api/types.ts';
import { failureText, nextStepOf, pageOfStep, stepLabel } from '../../common/deployment/failure.ts';
import { TrustLocalHttps } from '../../common/local-ca/trust-local-https.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { TextWithCode } from '../../common/page/text-with-code.tsx';
import { useDeploymentCalls } from './deployment-actions.tsx';
import type { FailingLines } from './failing-lines.ts';
import { FailureExcerpt } from './failure-excerpt.tsx';

export interface DeploymentOutcomeProps {
  readonly deployment: DeploymentDetail;
  readonly lines: readonly LogViewLine[];
  /** Null: the log shows none, or is not loaded yet. */
  readonly failing: FailingLines | null;
  readonly onShowError: () => void;
}

export function DeploymentOutcome(props: DeploymentOutcomeProps) {
  const { deployment, lines, failing } = props;
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
        <div className="min-w-0 flex-1">
          <h2 className="font-semibold text-bad-text">The deployment failed</h2>
          <p className="wrap-anywhere mt-0.5 text-pretty text-ink">
            <TextWithCode text={failureText(deployment)} />
          </p>
          {failing === null || failing.advice === null ? null : (
            <p className="wrap-anywhere mt-1 text-pretty text-ink">{failing.advice}</p>
          )}
          {failing === null ? null : <FailureExcerpt lines={lines} failing={failing} onShowError={props.onShowError} />}
          <FailureActions {...props} />
        </div>
      </section>
    );
  }
  const url = app?.url ?? null;
  if (deployment.state !== 'live' || !deployment.isCurrent || url === null) return null;
  return (
    <section className="mb-6 flex animate-arrive flex-wrap items-center gap-x-3 gap-y-2 rounded-card border border-line bg-surface px-4 py-4">
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
      <TrustLocalHttps url={url} serverId={app?.serverId ?? null} className="ml-auto" />
      {deployment.hadLiveRelease ? null : <NextSteps deployment={deployment} />}
    </section>
  );
}

/** Leads to what most people do once an app is live for the first time. */
function NextSteps({ deployment }: Pick<DeploymentOutcomeProps, 'deployment'>) {
  const { can, paths } = useMe();
  const { appSlug, appName, environmentId } = deployment;
  const steps = [
    can('domain.write') && { title: 'Add domain', href: paths.appDomains(appSlug, environmentId) },
    can('secret.write', deployment) && { title: 'Set variables', href: paths.appVariables(appSlug, environmentId) },
    can('member.invite') && { title: 'Invite people', href: paths.members },
  ].filter((step) => step !== false);
  return (
    <div className="flex w-full flex-wrap items-center gap-2 border-line border-t pt-3">
      <p className="mr-auto text-ink-soft">{appName} is live for the first time. Next:</p>
      {steps.map(({ title, href }) => (
        <HoverLink key={href} href={href} className={buttonClass('plain', 'small')}>
          {title}
        </HoverLink>
      ))}
    </div>
  );
}

/** The fix first: a page of settings, the error in the log, or a retry. */
function FailureActions({ deployment, failing, onShowError }: DeploymentOutcomeProps) {
  const { can, paths } = useMe();
  const { run, pending } = useDeploymentCalls();
  const { id: deploymentId, canRetry, canRedeploy } = deployment;
  const known = nextStepOf(deployment.failureCode);
  // The log may name a setting where the code does not.
  const step = known === 'log' ? (failing?.step ?? 'log') : known;
  const page = step === 'log' || step === 'again' ? null : pageOfStep(step, paths, deployment);
  const mayRetry = can('deployment.write', deployment) && (canRetry || canRedeploy);
  return (
    <div className="mt-3 flex flex-wrap gap-2">
      {page === null || step === 'log' ? null : (
        <HoverLink href={page} className={buttonClass('accent')}>
          {stepLabel[step]}
        </HoverLink>
      )}
      {page === null && step !== 'again' && failing !== null ? (
        <Button variant="accent" onClick={onShowError}>
          {stepLabel.log}
        </Button>
      ) : null}
      {mayRetry ? (
        <Button
          variant={step === 'again' ? 'accent' : 'plain'}
          icon={<RotateCw size={15} aria-hidden="true" />}
          pending={pending}
          title={canRetry ? 'Resumes from the step that failed.' : undefined}
          onClick={() => (canRetry ? run.retry({ deploymentId }) : run.redeploy({ deploymentId }))}
        >
          {stepLabel.again}
        </Button>
      ) : null}
      {page !== null && failing !== null ? <Button onClick={onShowError}>{stepLabel.log}</Button> : null}
    </div>
  );
}
