'use client';
// Uploads a JSON document for an app. Names each field that the API refuses by its path in the document.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { parseDocument, problemsOf } from './plan-document.ts';

const APPS_SHOWN = 100;
const PROBLEMS_SHOWN = 10;
const KIBIBYTE = 1024;

export interface DocumentDialogProps {
  readonly title: string;
  readonly detail: ReactNode;
  /** Larger files are refused before they are sent. */
  readonly kibibytesMax: number;
  readonly pending: boolean;
  /** Error of the last attempt; null without one. */
  readonly error: unknown;
  readonly onUpload: (appId: string, document: unknown) => void;
  readonly onClose: () => void;
}

export function DocumentDialog(props: DocumentDialogProps) {
  const { title, detail, kibibytesMax, pending, error, onUpload, onClose } = props;
  const formId = useId();
  const apps = useQuery(useTRPC().app.list.queryOptions({ limit: APPS_SHOWN })).data?.items ?? [];
  const [appId, setAppId] = useState('');
  const [file, setFile] = useState<File | null>(null);
  const [unread, setUnread] = useState<string | null>(null);
  const failure = error === null || unread !== null ? null : readFailure(error);
  const problems = failure === null ? [] : problemsOf(failure.fields);
  const chosen = appId === '' ? (apps[0]?.id ?? '') : appId;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (file === null) return setUnread('Choose a file.');
    if (file.size > kibibytesMax * KIBIBYTE) return setUnread(`The file is larger than ${kibibytesMax} KiB.`);
    const parsed = parseDocument(await file.text());
    setUnread('problem' in parsed ? parsed.problem : null);
    if ('document' in parsed) onUpload(chosen, parsed.document);
  };

  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      detail={detail}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton variant="accent" form={formId} pending={pending}>
            {title}
          </SubmitButton>
        </>
      }
    >
      <form id={formId} noValidate onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        <Field label="App" error={failure?.fields.appId}>
          {(control) => (
            <Select {...control} value={chosen} onChange={(event) => setAppId(event.target.value)}>
              {apps.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="File" error={unread ?? undefined}>
          {(control) => (
            <Input
              {...control}
              type="file"
              accept=".json,application/json"
              onChange={(event) => setFile(event.target.files?.[0] ?? null)}
              className="py-1.5"
            />
          )}
        </Field>
        {problems.length === 0 ? null : (
          <div role="alert" className="rounded-control bg-bad-wash px-3 py-2.5 text-bad-text text-sm">
            <p className="font-medium">The file was refused:</p>
            <ul className="mt-1 flex flex-col gap-1">
              {problems.slice(0, PROBLEMS_SHOWN).map(({ path, message }) => (
                <li key={path}>
                  <code className="break-all font-mono">{path}</code>: {message}
                </li>
              ))}
            </ul>
            {problems.length > PROBLEMS_SHOWN ? (
              <p className="mt-1">And {problems.length - PROBLEMS_SHOWN} more.</p>
            ) : null}
          </div>
        )}
        {failure === null || problems.length > 0 || failure.fields.appId !== undefined ? null : (
          <ErrorNote>{failure.message}</ErrorNote>
        )}
      </form>
    </Dialog>
  );
}
