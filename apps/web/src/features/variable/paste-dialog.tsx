'use client';
// Imports a .env file: parses it in the browser, offers plain or secret for each line, previews the changes, and saves
// all or nothing.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox, Field, Select, Textarea } from '@fairlead/ui/input';
import { Badge } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useMe } from '../../common/organization/me.tsx';
import { type EnvVariable, type Kind, type KnownVariables, readEnvLines, summaryOf } from './env-lines.ts';
import { type PlacementOwner, useRefetchVariables, useSaveVariables } from './use-variable-calls.ts';

export interface PasteDialogProps {
  readonly placement: PlacementOwner;
  readonly known: KnownVariables;
  readonly onClose: () => void;
}

export function PasteDialog({ placement, known, onClose }: PasteDialogProps) {
  const { plural } = useFormats();
  const { can } = useMe();
  const toast = useToast();
  const refetch = useRefetchVariables();
  const save = useSaveVariables(placement, new Set(known.plain.keys()));
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<ReadonlyMap<string, Kind>>(new Map());
  const [sealed, setSealed] = useState(true);
  const { variables, problems } = readEnvLines(text, known, chosen);
  const refusals = variables.flatMap(({ line, problem }) => (problem === null ? [] : [{ line, message: problem }]));
  const faults = [...problems, ...refusals].sort((a, b) => a.line - b.line);
  const needs = { plain: can('app.write'), secret: can('secret.write') };
  const denied = variables.find(({ kind }) => !needs[kind]);
  const secrets = variables.filter(({ kind }) => kind === 'secret');
  const submit = () =>
    save.mutate(
      {
        plain: variables.flatMap(({ name, value, kind }) => (kind === 'plain' ? [{ name, value }] : [])),
        secrets: secrets.map(({ name, value }) => ({ name, value, sealed })),
      },
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
            pending={save.isPending}
            disabled={variables.length === 0 || faults.length > 0 || denied !== undefined}
            onClick={submit}
          >
            {variables.length === 0 ? 'Save' : `Save ${plural(variables.length, 'variable', 'variables')}`}
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
              rows={7}
              autoFocus
              autoComplete="off"
              spellCheck={false}
              placeholder={'LOG_LEVEL=info\nDATABASE_URL="postgres://…"'}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {faults.length > 0 ? (
          <ul role="alert" className="rounded-control bg-bad-wash px-3 py-2 text-bad-text">
            {faults.map(({ line, message }) => (
              <li key={`${line} ${message}`}>
                Line {line}: {message}
              </li>
            ))}
          </ul>
        ) : null}
        {variables.length > 0 ? (
          <Preview variables={variables} onKind={(name, kind) => setChosen(new Map(chosen).set(name, kind))} />
        ) : null}
        {secrets.length > 0 ? (
          <Checkbox
            label="Sealed: the secrets can't be viewed again"
            checked={sealed}
            onChange={(event) => setSealed(event.target.checked)}
          />
        ) : null}
        {denied === undefined ? null : (
          <ErrorNote>
            {denied.kind === 'secret'
              ? 'You need the permission “Set secrets” to save secrets. Make these lines plain.'
              : 'You need the permission “Create and change apps” to save plain variables. Make these lines secrets.'}
          </ErrorNote>
        )}
        {save.error === null ? null : <ErrorNote>{readFailure(save.error).message}</ErrorNote>}
      </div>
    </Dialog>
  );
}

interface PreviewProps {
  readonly variables: readonly EnvVariable[];
  readonly onKind: (name: string, kind: Kind) => void;
}

function Preview({ variables, onKind }: PreviewProps) {
  return (
    <ul
      aria-label="Changes"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling list must be reachable by keyboard
      tabIndex={0}
      className="max-h-64 overflow-y-auto rounded-control border border-line"
    >
      {variables.map(({ name, kind, held, effect, line, problem }) => (
        <li
          key={name}
          className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-b px-3 py-1.5 last:border-b-0"
        >
          <code className="min-w-0 flex-1 truncate font-mono text-sm max-sm:basis-full" title={name}>
            {name}
          </code>
          {problem === null ? <Badge>{effect}</Badge> : <span className="text-bad-text text-sm">Line {line}</span>}
          <span className="ml-auto w-28 shrink-0">
            <Select
              aria-label={`Kind of ${name}`}
              value={kind}
              disabled={held}
              onChange={(event) => onKind(name, event.target.value === 'secret' ? 'secret' : 'plain')}
            >
              <option value="plain">Plain</option>
              <option value="secret">Secret</option>
            </Select>
          </span>
        </li>
      ))}
    </ul>
  );
}
