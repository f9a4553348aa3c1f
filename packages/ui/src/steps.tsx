'use client';
// Vertical list of steps with progress: deployments, the first run, enrolment.
import type { ReactNode } from 'react';
import { cn } from './lib/class-names.ts';
import { Elapsed } from './relative-time.tsx';
import { StateMark } from './state-pill.tsx';

export type StepState = 'pending' | 'current' | 'running' | 'done' | 'failed' | 'skipped';

export interface Step {
  readonly id: string;
  readonly title: ReactNode;
  readonly state: StepState;
  readonly startedAt?: Date | null;
  readonly finishedAt?: Date | null;
  readonly detail?: ReactNode;
}

const SAID: Record<StepState, string> = {
  pending: 'waiting',
  current: 'your turn',
  running: 'running',
  done: 'done',
  failed: 'failed',
  skipped: 'skipped',
};

export function Steps({ steps, label }: { readonly steps: readonly Step[]; readonly label: string }) {
  return (
    <ol aria-label={label} className="flex flex-col">
      {steps.map((step, index) => (
        <li key={step.id} className="relative flex gap-3 pb-4 last:pb-0">
          {index < steps.length - 1 ? <Line filled={step.state === 'done'} /> : null}
          <StepMark state={step.state} />
          <div className="min-w-0 flex-1 pt-px">
            <div className="flex items-baseline gap-3">
              <span
                className={cn(
                  'min-w-0 truncate',
                  step.state === 'pending' || step.state === 'skipped' ? 'text-ink-faint' : 'text-ink',
                  (step.state === 'running' || step.state === 'current') && 'font-medium',
                  step.state === 'failed' && 'font-medium text-bad-text',
                )}
              >
                {step.title}
                <span className="sr-only">, {SAID[step.state]}</span>
              </span>
              {step.startedAt && step.state !== 'skipped' ? (
                <Elapsed
                  from={step.startedAt}
                  until={step.state === 'running' ? null : (step.finishedAt ?? step.startedAt)}
                  className="tabular ml-auto font-mono text-xs text-ink-faint"
                />
              ) : null}
              {step.state === 'skipped' ? <span className="ml-auto text-xs text-ink-faint">skipped</span> : null}
            </div>
            {step.detail ? <div className="mt-1 text-sm text-ink-soft">{step.detail}</div> : null}
          </div>
        </li>
      ))}
    </ol>
  );
}

function Line({ filled }: { readonly filled: boolean }) {
  return (
    <span aria-hidden="true" className="absolute top-5 bottom-0 left-[9.25px] w-[1.5px] overflow-hidden bg-line">
      <span
        className={cn(
          'block h-full w-full origin-top bg-ok transition-transform duration-180 ease-move',
          filled ? 'scale-y-100' : 'scale-y-0',
        )}
      />
    </span>
  );
}

const MARK: Record<StepState, string> = {
  pending: 'border-line-strong bg-surface',
  current: 'border-accent bg-surface',
  running: 'border-busy bg-busy-wash',
  done: 'border-transparent bg-ok-wash',
  failed: 'border-transparent bg-bad-wash',
  skipped: 'border-line bg-sunken',
};

function StepMark({ state }: { readonly state: StepState }) {
  return (
    <span className={cn('flex size-5 shrink-0 items-center justify-center rounded-full border', MARK[state])}>
      {state === 'done' ? <StateMark tone="ok" /> : null}
      {state === 'failed' ? <StateMark tone="bad" /> : null}
      {state === 'current' ? <span className="size-2 rounded-full bg-accent" /> : null}
      {state === 'running' ? <StateMark tone="busy" shape="half" /> : null}
      {state === 'skipped' ? <StateMark tone="idle" shape="dash" /> : null}
    </span>
  );
}
