// Dialog that confirms one action, with the API's message if it fails.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import type { ReactNode } from 'react';
import { readFailure } from '../../api/failure.ts';

export interface ConfirmDialogProps {
  readonly open?: boolean;
  readonly title: string;
  /** Label of the button that confirms. */
  readonly action: string;
  readonly variant?: 'accent' | 'danger';
  readonly disabled?: boolean;
  readonly pending: boolean;
  /** Error of the last attempt; null without one. */
  readonly error?: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { open = true, title, action, variant = 'danger', disabled = false, pending, onConfirm, onClose } = props;
  const { error = null, children } = props;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant={variant} pending={pending} disabled={disabled} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4 text-ink-soft">
        {children}
        {error === null ? null : <ErrorNote>{readFailure(error).message}</ErrorNote>}
      </div>
    </Dialog>
  );
}
