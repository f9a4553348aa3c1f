'use client';
// Form controls, and the field around them with label, hint and error, linked for screen readers.
import { type ComponentProps, type ReactNode, useId } from 'react';
import { cn } from './lib/class-names.ts';
import { useEarlyInput } from './lib/use-early-input.ts';

const CONTROL =
  // Phones zoom into fields with text smaller than 16 pixels.
  'w-full rounded-control border max-sm:text-lg border-line-control bg-field text-ink placeholder:text-ink-faint transition-colors duration-120 ' +
  'hover:border-ink-faint disabled:cursor-not-allowed disabled:opacity-60 aria-invalid:border-bad';

export interface InputProps extends Omit<ComponentProps<'input'>, 'ref'> {
  readonly mono?: boolean;
}

export function Input({ mono = false, className, ...rest }: InputProps) {
  const ref = useEarlyInput<HTMLInputElement>();
  return (
    <input
      {...rest}
      ref={ref}
      className={cn(CONTROL, 'h-9 px-3', rest.type === 'file' && 'py-1.5', mono && 'font-mono text-sm', className)}
    />
  );
}

export interface TextareaProps extends ComponentProps<'textarea'> {
  readonly mono?: boolean;
}

export function Textarea({ mono = false, className, ...rest }: TextareaProps) {
  return <textarea {...rest} className={cn(CONTROL, 'px-3 py-2', mono && 'font-mono text-sm', className)} />;
}

export function Select({ className, children, ...rest }: Omit<ComponentProps<'select'>, 'ref'>) {
  const ref = useEarlyInput<HTMLSelectElement>();
  return (
    <span className={cn('relative inline-flex w-full', className)}>
      <select {...rest} ref={ref} className={cn(CONTROL, 'h-9 appearance-none pr-8 pl-3')}>
        {children}
      </select>
      <svg
        className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2 text-ink-faint"
        width="14"
        height="14"
        viewBox="0 0 16 16"
        fill="none"
        aria-hidden="true"
      >
        <path d="m4.5 6.25 3.5 3.5 3.5-3.5" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
      </svg>
    </span>
  );
}

export interface CheckboxProps extends Omit<ComponentProps<'input'>, 'type' | 'ref'> {
  readonly label: ReactNode;
  readonly hint?: string;
}

export function Checkbox({ label, hint, className, ...rest }: CheckboxProps) {
  const hintId = useId();
  const ref = useEarlyInput<HTMLInputElement>();
  const box = (
    <label className={cn('inline-flex items-center gap-2.5', hint === undefined && className)}>
      <input
        aria-describedby={hint === undefined ? undefined : hintId}
        {...rest}
        ref={ref}
        type="checkbox"
        className="size-4 shrink-0 accent-accent"
      />
      <span>{label}</span>
    </label>
  );
  if (hint === undefined) return box;
  return (
    <div className={cn('flex flex-col items-start gap-1', className)}>
      {box}
      <p id={hintId} className="pl-6.5 text-sm text-ink-faint">
        {hint}
      </p>
    </div>
  );
}

export interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly className?: string;
  /** Renders the control with the ids that link it to its label and its message. */
  readonly children: (control: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': true | undefined;
  }) => ReactNode;
}

export function Field({ label, hint, error, className, children }: FieldProps) {
  const id = useId();
  const messageId = `${id}-message`;
  const message = error ?? hint;
  return (
    <div className={cn('field flex w-full flex-col gap-1.5', className)}>
      <label htmlFor={id} className="font-medium text-ink">
        {label}
      </label>
      {children({
        id,
        'aria-describedby': message ? messageId : undefined,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {message ? (
        <p id={messageId} className={cn('text-sm', error ? 'text-bad-text' : 'text-ink-faint')} aria-live="polite">
          {message}
        </p>
      ) : null}
    </div>
  );
}
