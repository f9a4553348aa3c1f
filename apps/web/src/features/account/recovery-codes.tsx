'use client';
// Recovery codes, shown once, to copy or to download.
import { Button, buttonClass } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { useEffect, useRef } from 'react';

export interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onDone: () => void;
}

export function RecoveryCodes({ codes, onDone }: RecoveryCodesProps) {
  const list = useRef<HTMLUListElement>(null);
  // The form that had focus is gone.
  useEffect(() => list.current?.focus(), []);
  const text = `${codes.join('\n')}\n`;
  return (
    <div className="flex flex-col gap-4">
      <p className="text-pretty text-ink-soft">
        Each code works once in place of your passkey or authenticator app. Fairlead shows them only now. Store them
        where you can reach them without this device.
      </p>
      <ul
        ref={list}
        tabIndex={-1}
        aria-label="Recovery codes"
        className="grid grid-cols-2 gap-x-6 gap-y-1.5 rounded-control bg-sunken px-4 py-3 font-mono text-sm"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap items-center justify-end gap-2">
        <CopyButton value={text} label="Copy codes" size="medium" />
        <a
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
          download="fairlead-recovery-codes.txt"
          className={buttonClass()}
        >
          Download
        </a>
        <Button variant="accent" onClick={onDone}>
          I've saved these codes
        </Button>
      </div>
    </div>
  );
}
