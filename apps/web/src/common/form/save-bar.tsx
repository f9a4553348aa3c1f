'use client';
// Save bar of a long form: the pending changes and the error of the last attempt. Visible while there is something to
// save. It focuses and names the invalid fields of its form, and guards the changes against leaving the page.
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { cn } from '@fairlead/ui/lib/class-names';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Failure } from '../../api/failure.ts';
import { focusControl, invalidControls, labelOfControl } from './focus-field.ts';
import { useUnsavedChanges } from './unsaved-changes.tsx';

export interface SaveBarProps {
  /** Number of settings that differ from the saved ones. */
  readonly changed: number;
  readonly pending: boolean;
  readonly failure: Failure | null;
  readonly onDiscard: () => void;
  /** When the changes take effect. */
  readonly detail?: string;
  /** Result of the last save, until something changes. A toast would cover the buttons. */
  readonly saved?: string | null;
  /** The changes, above the buttons. */
  readonly children?: ReactNode;
}

export function SaveBar({ changed, pending, failure, onDiscard, detail, saved, children }: SaveBarProps) {
  const { plural } = useFormats();
  const bar = useRef<HTMLElement>(null);
  const [attention, setAttention] = useState('');
  // A failure is read anew by each render; focus moves once for each attempt.
  const refusal = failure === null ? null : JSON.stringify(failure.fields);
  useUnsavedChanges(changed > 0);
  useEffect(() => {
    const own = bar.current;
    const form = own?.closest('form');
    if (refusal === null || own === null || !form) return;
    const controls = invalidControls(form);
    const shown = form.textContent.replace(own.textContent, '');
    setAttention(attentionText(controls.map(labelOfControl), JSON.parse(refusal), shown));
    const [first] = controls;
    if (first !== undefined) focusControl(first);
  }, [refusal]);
  return (
    <footer
      ref={bar}
      className={cn(
        'flex flex-wrap items-center gap-3 rounded-card border border-line bg-raised px-4 py-3',
        changed > 0 && '-mx-1 sticky bottom-0 z-10 shadow-float max-md:bottom-16',
      )}
    >
      {children}
      <span className="min-w-0 flex-1 text-ink-soft text-sm" aria-live="polite">
        {changed === 0 ? (saved ?? 'No changes.') : `${plural(changed, 'setting')} changed.`}
        {changed === 0 || detail === undefined ? null : ` ${detail}`}
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
          {Object.keys(failure.fields).length === 0 ? failure.message : attention}
        </ErrorNote>
      )}
    </footer>
  );
}

/** Names the invalid fields. An error that no field of the form shows is told here. */
function attentionText(labels: readonly string[], fields: Failure['fields'], shown: string): string {
  if (labels.length > 0) {
    return `${labels.length} ${labels.length === 1 ? 'field needs' : 'fields need'} attention: ${[...new Set(labels)].join(', ')}`;
  }
  return Object.values(fields).find((message) => !shown.includes(message)) ?? 'Some fields need attention.';
}
