'use client';
// Save bar of a long form: the pending changes and the error of the last attempt. Visible while there is something to
// save.
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { cn } from '@fairlead/ui/lib/class-names';
import { plural } from '@fairlead/ui/lib/format';
import { SubmitButton } from '@fairlead/ui/submit-button';
import type { Failure } from '../../api/failure.ts';

export interface SaveBarProps {
  /** Number of settings that differ from the saved ones. */
  readonly changed: number;
  readonly pending: boolean;
  readonly failure: Failure | null;
  readonly onDiscard: () => void;
}

export function SaveBar({ changed, pending, failure, onDiscard }: SaveBarProps) {
  return (
    <footer
      className={cn(
        'flex flex-wrap items-center gap-3 rounded-card border border-line bg-raised px-4 py-3',
        changed > 0 && '-mx-1 sticky bottom-0 z-10 shadow-float max-md:bottom-16',
      )}
    >
      <span className="min-w-0 flex-1 text-ink-soft text-sm" aria-live="polite">
        {changed === 0 ? 'No changes.' : `${plural(changed, 'setting')} changed.`}
      </span>
      {changed === 0 ? null : (
        <Button variant="ghost" onClick={onDiscard}>
          Discard
        </Button>
      )}
      <SubmitButton variant="accent" pending={pending} disabled={changed === 0}>
        Save
      </SubmitButton>
      {failure === null ? null : (
        <ErrorNote className="basis-full">
          {Object.keys(failure.fields).length > 0 ? 'Some fields need attention.' : failure.message}
        </ErrorNote>
      )}
    </footer>
  );
}
