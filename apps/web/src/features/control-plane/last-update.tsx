// Progress or result of the last update, with the end of its log.
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateText, type Tone } from '@fairlead/ui/state-pill';
import type { ControlPlaneState } from '../../api/types.ts';

type Last = NonNullable<ControlPlaneState['updates']['last']>;

const STATES: Record<Last['state'], { readonly tone: Tone; readonly label: string }> = {
  running: { tone: 'busy', label: 'Updating' },
  succeeded: { tone: 'ok', label: 'Succeeded' },
  failed: { tone: 'bad', label: 'Failed' },
  rolled_back: { tone: 'bad', label: 'Rolled back' },
  interrupted: { tone: 'warn', label: 'Interrupted' },
};

const STEPS: Record<Last['step'], string> = {
  fetch: 'Downloading and verifying the release',
  prepare: 'Unpacking and checking the release',
  back_up: 'Copying the database and the keys',
  start: 'Starting the new version',
  roll_back: 'Going back to the previous version',
};

export interface LastUpdateProps {
  readonly last: Last | null;
  /** True while a request waits for the updater. */
  readonly isWaiting: boolean;
  readonly isAway: boolean;
}

export function LastUpdate({ last, isWaiting, isAway }: LastUpdateProps) {
  const shown = isWaiting ? null : last;
  const { tone, label } = shown === null ? { tone: 'busy' as const, label: 'Requested' } : STATES[shown.state];
  return (
    <section aria-label="Last update" aria-live="polite" className="border-line border-t px-4 py-4">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
        <StateText tone={tone}>{label}</StateText>
        <span className="text-ink-soft">{shown === null ? 'The updater starts.' : whatOf(shown)}</span>
        {shown?.finishedAt ? (
          <span className="ml-auto text-ink-faint">
            <RelativeTime at={shown.finishedAt} />
          </span>
        ) : null}
      </p>
      {isAway && (shown === null || shown.state === 'running') ? (
        <p className="mt-2 text-pretty text-ink-soft text-sm">
          The dashboard restarts. This page continues by itself once the dashboard is back.
        </p>
      ) : null}
      {shown === null || shown.log.join('') === '' ? null : (
        <details className="mt-2 text-sm" open={shown.state !== 'succeeded'}>
          <summary className="cursor-pointer text-ink-soft">Log</summary>
          <pre className="mt-2 max-h-60 overflow-auto whitespace-pre-wrap break-words font-mono text-ink-soft text-xs">
            {shown.log.join('\n')}
          </pre>
        </details>
      )}
    </section>
  );
}

function whatOf({ state, step, from, to }: Last): string {
  if (state === 'running') return `${STEPS[step]}${to === '' ? '' : `, ${from} to ${to}`}`;
  if (state === 'succeeded') return `Updated from ${from} to ${to}`;
  if (state === 'rolled_back') return `The update to ${to} failed, and ${from} is back with its database`;
  if (state === 'interrupted') return `The update to ${to} was interrupted. Run fairlead update on the server`;
  return to === '' ? 'The request was rejected' : `The update to ${to} failed, and ${from} was not changed`;
}
