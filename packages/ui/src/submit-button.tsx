'use client';
// Submit button of a form. Invariant: it is off until the page is hydrated, because a form sent earlier would put its
// fields, passwords too, into the address.
import { useSyncExternalStore } from 'react';
import { ButtonOfType, type ButtonProps } from './button.tsx';

const never = () => () => undefined;

/** Sends its form, by a press or by Enter in a field. While it is off, Enter does nothing either. */
export function SubmitButton({ disabled = false, ...rest }: ButtonProps) {
  const isHydrated = useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
  return <ButtonOfType {...rest} type="submit" disabled={disabled || !isHydrated} />;
}
