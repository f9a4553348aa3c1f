'use client';
// Errors of a form beside their fields: empty ones before the call, and those that the API refused. Focuses the first.
import { type RefObject, useEffect, useRef, useState } from 'react';
import { readFailure } from '../../api/failure.ts';

export interface FormErrors {
  readonly form: RefObject<HTMLFormElement | null>;
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** Message of a failure that belongs to no field; null without one. */
  readonly note: string | null;
  /** Reports whether every named field is filled, and shows the error of each that isn't. */
  readonly isComplete: () => boolean;
}

/** `required` has the sentence for each field that must not be empty. */
export function useFormErrors(error: unknown, required: Readonly<Record<string, string>>): FormErrors {
  const form = useRef<HTMLFormElement>(null);
  const [missing, setMissing] = useState<Readonly<Record<string, string>>>({});
  const failure = error === null ? null : readFailure(error);
  const isMissing = Object.keys(missing).length > 0;
  const fields = isMissing ? missing : (failure?.fields ?? {});
  useEffect(() => {
    // Each attempt makes another object: a second one with the same gap focuses it again.
    if (Object.keys(missing).length === 0 && error === null) return;
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [missing, error]);
  return {
    form,
    fields,
    note: isMissing || failure === null || Object.keys(failure.fields).length > 0 ? null : failure.message,
    isComplete: () => {
      const found = form.current === null ? {} : missingFields(new FormData(form.current), required);
      setMissing(found);
      return Object.keys(found).length === 0;
    },
  };
}

export function missingFields(
  data: FormData,
  required: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  // A field that the form doesn't show is not missing.
  return Object.fromEntries(
    Object.entries(required).filter(([name]) => data.has(name) && String(data.get(name)).trim() === ''),
  );
}
