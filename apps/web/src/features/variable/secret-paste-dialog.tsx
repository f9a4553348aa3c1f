'use client';
// Imports a .env file into a shared group: parses it in the browser, previews the names, and saves all or nothing.
import { parseEnvText } from '@fairlead/core/secret/rules';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Textarea } from '@fairlead/ui/input';
import { Badge } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import type { SecretOwner } from '../../api/types.ts';
import { summaryOf } from './env-lines.ts';
import { useRefetchVariables, useUpdateSecrets } from './use-variable-calls.ts';

export interface SecretPasteDialogProps {
  readonly owner: SecretOwner;
  readonly knownNames: ReadonlySet<string>;
  readonly onClose: () => void;
}

export function SecretPasteDialog({ owner, knownNames, onClose }: SecretPasteDialogProps) {
  const toast = useToast();
  const refetch = useRefetchVariables();
  const update = useUpdateSecrets();
  const [text, setText] = useState('');
  const [sealed, setSealed] = useState(true);
  const { entries, problems } = parseEnvText(text);
  const save = () =>
    update.mutate(
      { owner, items: entries.map(({ name, value }) => ({ name, value, sealed })) },
      {
        onSuccess: (result) => {
          toast({ title: summaryOf(result) });
          refetch();
          onClose();
        },
      },
    );
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Paste .env"
      detail="Review the changes before they are saved."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="accent"
            pending={update.isPending}
            disabled={entries.length === 0 || problems.length > 0}
            onClick={save}
          >
            {entries.length === 0 ? 'Save' : `Save ${entries.length} ${entries.length === 1 ? 'secret' : 'secrets'}`}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <Field label="Content of the file">
          {(control) => (
            <Textarea
              {...control}
              mono
              rows={8}
              autoFocus
              autoComplete="off"
              spellCheck={false}
              placeholder={'DATABASE_URL="postgres://…"\nAPI_KEY=…'}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {problems.length > 0 ? (
          <ErrorNote>{problems.map(({ line, message }) => `Line ${line}: ${message}`).join(' ')}</ErrorNote>
        ) : null}
        {entries.length > 0 ? (
          <ul aria-label="Changes" className="max-h-48 overflow-y-auto rounded-control border border-line">
            {entries.map(({ name, value }) => (
              <li key={name} className="flex items-center gap-3 border-line border-b px-3 py-1.5 last:border-b-0">
                <code className="min-w-0 truncate font-mono text-sm">{name}</code>
                <span className="ml-auto whitespace-nowrap text-sm text-ink-faint tabular-nums">
                  {value.length} {value.length === 1 ? 'character' : 'characters'}
                </span>
                <Badge>{knownNames.has(name) ? 'replaces' : 'new'}</Badge>
              </li>
            ))}
          </ul>
        ) : null}
        <Checkbox
          label="Sealed: these values can't be viewed again"
          checked={sealed}
          onChange={(event) => setSealed(event.target.checked)}
        />
        {update.error === null ? null : <ErrorNote>{readFailure(update.error).message}</ErrorNote>}
      </div>
    </Dialog>
  );
}
