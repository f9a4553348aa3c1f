'use client';
// Saves a plan from a file, such as fairlead.bench.json of a repository. Names each field that the API refuses.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs } from '../../api/types.ts';
import { PLAN_BYTES_MAX, PLAN_FILE, parseDocument, problemsOf } from './plan-document.ts';

const APPS_SHOWN = 100;

export function UploadPlanDialog({ onClose }: { readonly onClose: () => void }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const formId = useId();
  const apps = useQuery(trpc.app.list.queryOptions({ limit: APPS_SHOWN })).data?.items ?? [];
  const upload = useMutation(trpc.benchmarkPlan.upload.mutationOptions());
  const [appId, setAppId] = useState('');
  const [file, setFile] = useState<File | null>(null);
  const [unread, setUnread] = useState<string | null>(null);
  const failure = upload.error === null ? null : readFailure(upload.error);
  const problems = unread === null && failure !== null ? problemsOf(failure.fields) : [];
  const chosen = appId === '' ? (apps[0]?.id ?? '') : appId;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    upload.reset();
    setUnread(null);
    if (file === null) return setUnread('Choose a file.');
    if (file.size > PLAN_BYTES_MAX) return setUnread('The file is larger than 64 KiB, so it is no plan.');
    const parsed = parseDocument(await file.text());
    if ('problem' in parsed) return setUnread(parsed.problem);
    const document = parsed.document as Inputs['benchmarkPlan']['upload']['document'];
    upload.mutate(
      { appId: chosen, document },
      {
        onSuccess: () => {
          toast({ title: 'Plan saved' });
          void queryClient.invalidateQueries(trpc.benchmarkPlan.pathFilter());
          onClose();
        },
      },
    );
  };

  return (
    <Dialog
      open
      onClose={onClose}
      title="Upload plan"
      detail={
        <>
          A JSON file that a repository can hold, usually named <code className="font-mono">{PLAN_FILE}</code>.
        </>
      }
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton variant="accent" form={formId} pending={upload.isPending}>
            Upload plan
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
              {problems.map(({ path, message }) => (
                <li key={path}>
                  <code className="break-all font-mono">{path}</code>: {message}
                </li>
              ))}
            </ul>
          </div>
        )}
        {failure === null || problems.length > 0 || failure.fields.appId !== undefined ? null : (
          <ErrorNote>{failure.message}</ErrorNote>
        )}
      </form>
    </Dialog>
  );
}
