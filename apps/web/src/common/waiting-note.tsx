// Why something is not live yet, as one sentence, wherever something waits.
import { StateMark } from '@fairlead/ui/state-pill';
import type { DeploymentDetail } from '../api/types.ts';
import { HoverLink } from './hover-link.tsx';

type Wait = NonNullable<DeploymentDetail['waiting']>;

/** What goes on only when a person does something. */
const NEEDS_A_PERSON: readonly Wait['reason'][] = ['approval', 'server_offline', 'agent_lacks', 'going_back'];

export interface WaitingNoteProps {
  readonly waiting: Wait | null;
  /** Where more about it is told; null on that page itself. */
  readonly href?: string | null;
}

export function WaitingNote({ waiting, href = null }: WaitingNoteProps) {
  if (waiting === null) return null;
  const asks = NEEDS_A_PERSON.includes(waiting.reason);
  return (
    <section
      aria-label="Why it is not live"
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
          See the deployment
        </HoverLink>
      )}
    </section>
  );
}
