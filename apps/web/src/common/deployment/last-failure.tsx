// Note on an app's page that its newest deployment failed, in the words of the deployment's own page.
import { StateMark } from '@fairlead/ui/state-pill';
import type { DeploymentSummary } from '../../api/types.ts';
import { useMe } from '../organization/me.tsx';
import { HoverLink } from '../page/hover-link.tsx';
import { TextWithCode } from '../page/text-with-code.tsx';
import { failureText } from './failure.ts';

export function LastFailure({ deployment }: { readonly deployment: DeploymentSummary | undefined }) {
  const { paths } = useMe();
  if (deployment?.state !== 'failed') return null;
  return (
    <section aria-label="Last deployment" className="flex gap-3 rounded-card bg-bad-wash px-4 py-3.5">
      <span className="mt-1">
        <StateMark tone="bad" />
      </span>
      <div className="min-w-0 flex-1">
        <h2 className="font-semibold text-bad-text">Deployment #{deployment.number} failed</h2>
        <p className="wrap-anywhere mt-0.5 text-pretty text-ink">
          <TextWithCode text={failureText(deployment)} />
        </p>
        <HoverLink
          href={paths.deployment(deployment.id)}
          className="mt-2 inline-block rounded-mark text-ink-soft text-sm underline hover:text-ink"
        >
          View deployment
        </HoverLink>
      </div>
    </section>
  );
}
