'use client';
// Confirms an irreversible deletion by its typed name, and lists everything that is deleted with it.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { type ReactNode, useState } from 'react';

export interface ConfirmDeleteProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly what: string;
  readonly name: string;
  /** Title and action of an irreversible change other than a deletion. */
  readonly title?: string;
  readonly action?: string;
  readonly lost: ReactNode;
  readonly pending: boolean;
  readonly error: string | null;
  readonly onConfirm: (typedName: string) => void;
}

export function ConfirmDelete(props: ConfirmDeleteProps) {
  const { open, onClose, what, name, lost, pending, error, onConfirm } = props;
  const { title = `Delete the ${what} ${name}`, action = `Delete ${name}` } = props;
  const [typed, setTyped] = useState('');
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" pending={pending} disabled={typed !== name} onClick={() => onConfirm(typed)}>
            {action}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <div className="text-ink-soft">{lost}</div>
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
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
        {error === null ? null : <ErrorNote>{error}</ErrorNote>}
      </div>
    </Dialog>
  );
}
