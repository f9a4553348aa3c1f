'use client';
// Button that copies a text and confirms it in place.
import { useEffect, useState } from 'react';
import { IconButton } from './button.tsx';

export interface CopyButtonProps {
  /** Text to copy; a function builds a long one on demand. */
  readonly value: string | (() => string);
  readonly label?: string;
  readonly size?: 'small' | 'medium';
  readonly className?: string;
}

export function CopyButton({ value, label = 'Copy', size = 'small', className }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<'idle' | 'copied' | 'refused'>('idle');
  useEffect(() => {
    if (outcome === 'idle') return;
    const timer = setTimeout(() => setOutcome('idle'), 1600);
    return () => clearTimeout(timer);
  }, [outcome]);

  const copy = () => {
    navigator.clipboard.writeText(typeof value === 'string' ? value : value()).then(
      () => setOutcome('copied'),
      () => setOutcome('refused'),
    );
  };

  const said = outcome === 'copied' ? 'Copied' : outcome === 'refused' ? "The browser didn't allow copying" : label;
  return (
    <IconButton label={said} size={size} onClick={copy} {...(className === undefined ? {} : { className })}>
      <span aria-live="polite" className="sr-only">
        {outcome === 'idle' ? '' : said}
      </span>
      <svg
        width="15"
        height="15"
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
      >
        {outcome === 'copied' ? (
          <path d="m3 8.5 3.25 3.25L13 5" className="text-ok" />
        ) : (
          <>
            <rect x="5.75" y="5.75" width="7.5" height="7.5" rx="1.5" />
            <path d="M10.25 5.75v-1.5a1.5 1.5 0 0 0-1.5-1.5h-4.5a1.5 1.5 0 0 0-1.5 1.5v4.5a1.5 1.5 0 0 0 1.5 1.5h1.5" />
          </>
        )}
      </svg>
    </IconButton>
  );
}
