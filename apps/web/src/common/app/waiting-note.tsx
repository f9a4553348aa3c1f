// Note that explains in one sentence why a deployment is not live yet.
import { useFormats } from '@fairlead/ui/formats';
import { StateMark } from '@fairlead/ui/state-pill';
import { Fragment } from 'react';
import type { DeploymentDetail } from '../../api/types.ts';
import { useMe } from '../organization/me.tsx';
import { HoverLink } from '../page/hover-link.tsx';

type Wait = NonNullable<DeploymentDetail['waiting']>;

/** Reasons that need a person's action. */
const NEEDS_A_PERSON: readonly Wait['reason'][] = ['approval', 'server_offline', 'agent_lacks', 'going_back'];

/** Maximum number of builds ahead with a link; the others are counted. */
const NAMED = 3;

function QueueText({ queue: { aheadCount, ahead } }: { readonly queue: NonNullable<Wait['queue']> }) {
  const { plural } = useFormats();
  const { paths } = useMe();
  const named = ahead.slice(0, NAMED);
  const rest = aheadCount - named.length;
  return (
    <>
      Queued · {plural(aheadCount, 'build')} ahead
      {named.map(({ deploymentId, appName, number }, index) => (
        <Fragment key={deploymentId}>
          {index === 0 ? ': ' : ', '}
          <HoverLink href={paths.deployment(deploymentId)} className="rounded-mark underline hover:text-ink">
            {appName} #{number}
          </HoverLink>
        </Fragment>
      ))}
      {named.length > 0 && rest > 0 ? ` and ${rest} more` : null}
    </>
  );
}

export interface WaitingNoteProps {
  readonly waiting: Wait | null;
  /** Link to the deployment; null on its own page. */
  readonly href?: string | null;
}

export function WaitingNote({ waiting, href = null }: WaitingNoteProps) {
  if (waiting === null) return null;
  const asks = NEEDS_A_PERSON.includes(waiting.reason);
  return (
    <section
      aria-label="Reason it is not live"
      className={`mb-6 flex animate-arrive flex-wrap items-baseline gap-x-3 gap-y-1 rounded-card px-4 py-3 ${
        asks ? 'bg-warn-wash' : 'border border-line bg-surface'
      }`}
    >
      <span className="self-center">
        <StateMark tone={asks ? 'warn' : 'busy'} />
      </span>
      <p className="min-w-0 flex-1 basis-64 text-pretty" aria-live="polite">
        {waiting.queue === null ? waiting.sentence : <QueueText queue={waiting.queue} />}
      </p>
      {href === null ? null : (
        <HoverLink href={href} className="rounded-mark text-ink-soft text-sm underline hover:text-ink">
          View deployment
        </HoverLink>
      )}
    </section>
  );
}
