'use client';
// Value of a secret in a list: hidden until it is revealed, with its attributes.
import { CopyButton } from '@fairlead/ui/copy-button';
import { useNow } from '@fairlead/ui/lib/clock';
import { Badge, StateText } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import type { SecretView } from '../../api/types.ts';
import { useReveal } from './use-variable-calls.ts';

/** Time before the expiry at which the reminder is sent. */
const REMINDED_MS = 14 * 24 * 60 * 60_000;

export interface ShownSecret {
  /** Revealed value; null while it is hidden. */
  readonly shown: string | null;
  /** Reveals the value, or hides it again. */
  readonly toggle: () => void;
}

export function useShownSecret(secret: SecretView): ShownSecret {
  const toast = useToast();
  const reveal = useReveal();
  const [shown, setShown] = useState<string | null>(null);
  const toggle = () => {
    if (shown !== null) return setShown(null);
    reveal(secret.id, secret.number).then(
      ({ value }) => setShown(value),
      (error: unknown) => {
        const failure = readFailure(error);
        if (failure.code !== 'session.not_fresh') {
          toast({ tone: 'bad', title: `${secret.name} wasn't shown`, detail: failure.message });
        }
      },
    );
  };
  return { shown, toggle };
}

export function SecretValue({ secret, shown }: { readonly secret: SecretView; readonly shown: string | null }) {
  if (shown === null) {
    return (
      <span className="text-ink-faint" role="img" aria-label="Hidden value">
        ••••••••
      </span>
    );
  }
  return (
    <>
      <code className="max-h-24 min-w-0 overflow-auto whitespace-pre-wrap break-all font-mono text-sm">{shown}</code>
      <CopyButton value={shown} label={`Copy the value of ${secret.name}`} />
    </>
  );
}

export function SecretBadges({ secret }: { readonly secret: SecretView }) {
  return (
    <>
      {secret.sealed ? <Badge>sealed</Badge> : null}
      {secret.delivery === 'file' ? <Badge>file</Badge> : null}
      {secret.expiresAt === null ? null : <Expiry at={secret.expiresAt} />}
    </>
  );
}

/** Neutral while there is time, a warning from the reminder on, and an error once expired. */
function Expiry({ at }: { readonly at: Date }) {
  const now = useNow();
  const day = at.toISOString().slice(0, 10);
  const left = at.getTime() - now;
  if (left > REMINDED_MS) return <Badge>expires {day}</Badge>;
  return left > 0 ? <StateText tone="warn">expires {day}</StateText> : <StateText tone="bad">expired {day}</StateText>;
}
