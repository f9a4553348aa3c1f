'use client';
// Errors of a plan's form beside their fields. Each attempt to send it focuses the first one.
import { distributionFaults } from '@fairlead/core/benchmark/distribution';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { focusControl, invalidControls } from '../../common/form/focus-field.ts';
import { type PlanDraft, planOf } from './plan-draft.ts';
import { combinationErrors, errorsBelow, type FieldErrors, type PlanInput, standingErrors } from './plan-errors.ts';

interface Refusal {
  readonly error: unknown;
  readonly input: PlanInput;
  /** True if the form shows a message that belongs to no field. */
  readonly hasNote: boolean;
}

export interface PlanErrors {
  readonly form: RefObject<HTMLFormElement | null>;
  /** Errors by field of the API's input. */
  readonly fields: FieldErrors;
  readonly errorOf: (field: string) => string | undefined;
  /** Message that no field shows; null without one. */
  readonly note: string | null;
  /** Attempts to send the form. */
  readonly attempt: number;
  /** Begins an attempt. Returns whether the plan can be sent, and shows its errors if not. */
  readonly check: () => boolean;
  /** Shows the errors of the API. Without a note, the caller shows a message that belongs to no field. */
  readonly refuse: (error: unknown, hasNote?: boolean) => void;
}

/** `isPlanShown` is false if the form has no fields of the plan. */
export function usePlanErrors(draft: PlanDraft, input: PlanInput, isPlanShown = true): PlanErrors {
  const form = useRef<HTMLFormElement>(null);
  const [attempt, setAttempt] = useState(0);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  // Refusal with errors that no field of the form shows.
  const [unplaced, setUnplaced] = useState<Refusal | null>(null);
  const { plan, isComplete } = planOf(draft);
  const combinations = isComplete && isPlanShown ? combinationErrors(plan) : {};
  const failure = refusal === null ? null : readFailure(refusal.error);
  const standing = refusal === null || failure === null ? {} : standingErrors(failure.fields, refusal.input, input);
  const fields = attempt === 0 ? standing : { ...standing, ...combinations };
  const hasFields = failure !== null && Object.keys(failure.fields).length > 0;
  useEffect(() => {
    if (attempt > 0 && !focusFirst(form.current) && refusal !== null) setUnplaced(refusal);
  }, [attempt, refusal]);
  useEffect(() => {
    // The note shows its messages now.
    if (unplaced !== null) focusFirst(form.current);
  }, [unplaced]);
  return {
    form,
    fields,
    errorOf: errorsBelow(fields, 'plan'),
    note: noteOf(),
    attempt,
    check: () => {
      setAttempt((count) => count + 1);
      setRefusal(null);
      const isShared = distributionFaults(plan, input.loadServerIds.length).length === 0;
      return (isComplete || !isPlanShown) && isShared && Object.keys(combinations).length === 0;
    },
    refuse: (error, hasNote = true) => setRefusal({ error, input, hasNote }),
  };

  function noteOf(): string | null {
    if (failure === null || refusal === null) return null;
    if (!hasFields) return refusal.hasNote ? failure.message : null;
    const messages = Object.values(standing);
    return unplaced === refusal && messages.length > 0 ? messages.join(' ') : null;
  }
}

/** Focuses the first invalid control. Returns false if there is none. */
function focusFirst(form: HTMLFormElement | null): boolean {
  const first = form === null ? undefined : invalidControls(form)[0];
  if (first === undefined) return false;
  focusControl(first);
  return true;
}
