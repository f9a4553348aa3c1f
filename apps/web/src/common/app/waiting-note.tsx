// Note that explains in one sentence why a deployment is not live yet.
import { StateMark } from '@fairlead/ui/state-pill';
import type { DeploymentDetail } from '../../api/types.ts';
import { HoverLink } from '../page/hover-link.tsx';

type Wait = NonNullable<DeploymentDetail['waiting']>;

/** Reasons that need a person's action. */
const NEEDS_A_PERSON: readonly Wait['reason'][] = ['approval', 'server_offline', 'agent_lacks', 'going_back'];

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
        {waiting.sentence}
      </p>
      {href === null ? null : (
        <HoverLink href={href} className="rounded-mark text-ink-soft text-sm underline hover:text-ink">
          View deployment
        </HoverLink>
      )}
    </section>
  );
}
