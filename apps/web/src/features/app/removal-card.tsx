// Card of an app's settings that removes the app, or a part of it, after its name was typed.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { useState } from 'react';
import { ConfirmDelete, type ConfirmDeleteProps } from '../../common/form/confirm-delete.tsx';

interface RemovalCardProps extends Omit<ConfirmDeleteProps, 'open' | 'onClose' | 'what' | 'onConfirm'> {
  readonly heading: string;
  readonly summary: string;
  readonly button: string;
  readonly onConfirm: (typedName: string, close: () => void) => void;
}

export function RemovalCard({ heading, summary, button, onConfirm, ...dialog }: RemovalCardProps) {
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <Card className="p-4">
      <h2 className="font-semibold text-lg">{heading}</h2>
      <p className="mt-1 mb-4 text-pretty text-ink-soft">{summary}</p>
      <Button variant="danger-outline" onClick={() => setOpen(true)}>
        {button}
      </Button>
      <ConfirmDelete
        {...dialog}
        open={open}
        onClose={close}
        what="app"
        onConfirm={(typedName) => onConfirm(typedName, close)}
      />
    </Card>
  );
}
