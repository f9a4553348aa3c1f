'use client';
// Confirms an irreversible deletion by its typed name, and lists everything that is deleted with it.
import { Field, Input } from '@fairlead/ui/input';
import { type ReactNode, useState } from 'react';
import { ConfirmDialog } from './confirm-dialog.tsx';

export interface ConfirmDeleteProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly what: string;
  readonly name: string;
  /** Title and action of an irreversible change other than a deletion. */
  readonly title?: string;
  readonly action?: string;
  readonly consequences: ReactNode;
  readonly pending: boolean;
  readonly error: unknown;
  readonly onConfirm: (typedName: string) => void;
}

export function ConfirmDelete({ what, name, consequences, onConfirm, ...dialog }: ConfirmDeleteProps) {
  const [typed, setTyped] = useState('');
  return (
    <ConfirmDialog
      title={`Delete the ${what} ${name}`}
      action={`Delete ${name}`}
      {...dialog}
      disabled={typed !== name}
      onConfirm={() => onConfirm(typed)}
    >
      <div>{consequences}</div>
      <TypedNameField name={name} value={typed} onValue={setTyped} />
    </ConfirmDialog>
  );
}

interface TypedNameFieldProps {
  readonly name: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** Field for the name that confirms an irreversible change. */
export function TypedNameField({ name, value, onValue }: TypedNameFieldProps) {
  return (
    <Field
      label={
        <>
          Type <span className="font-mono">{name}</span> to confirm
        </>
      }
    >
      {(control) => (
        <Input
          {...control}
          mono
          autoComplete="off"
          spellCheck={false}
          value={value}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  );
}
