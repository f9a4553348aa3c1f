'use client';
// Password field with a button that shows what was typed.
import { type ComponentProps, useState } from 'react';
import { Input } from './input.tsx';
import { cn } from './lib/class-names.ts';

export interface PasswordInputProps extends Omit<ComponentProps<'input'>, 'type'> {
  readonly autoComplete: 'current-password' | 'new-password';
}

export function PasswordInput({ className, ...rest }: PasswordInputProps) {
  const [isShown, setIsShown] = useState(false);
  return (
    <span className="relative flex">
      <Input
        {...rest}
        type={isShown ? 'text' : 'password'}
        spellCheck={false}
        autoCapitalize="none"
        className={cn('pr-16', className)}
      />
      <button
        type="button"
        aria-pressed={isShown}
        onClick={() => setIsShown(!isShown)}
        className="absolute inset-y-1 right-1 rounded-mark px-2 text-ink-faint text-sm hover:text-ink"
      >
        {isShown ? 'Hide' : 'Show'}
        <span className="sr-only"> password</span>
      </button>
    </span>
  );
}
