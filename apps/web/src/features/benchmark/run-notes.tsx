'use client';
// Tags and note of a benchmark run, which those who may start benchmarks can change.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Textarea } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Pencil } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { BenchmarkDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { parseTags } from './parse-tags.ts';
import { TagList } from './tag-list.tsx';

export function RunNotes({ run }: { readonly run: BenchmarkDetail }) {
  const { can } = useMe();
  const [isOpen, setOpen] = useState(false);
  const isEmpty = run.tags.length === 0 && run.note === '';
  const mayWrite = can('benchmark.write');
  if (isEmpty && !mayWrite) return null;
  return (
    <Card>
      <CardHeader
        title="Notes"
        action={
          mayWrite && !isOpen ? (
            <Button icon={<Pencil size={15} aria-hidden="true" />} onClick={() => setOpen(true)}>
              Edit notes
            </Button>
          ) : undefined
        }
      />
      <div className="border-line border-t p-4">
        {isOpen ? (
          <NotesForm run={run} onClose={() => setOpen(false)} />
        ) : (
          <div className="flex flex-col gap-3">
            {isEmpty ? <p className="text-ink-soft">Tags and a note help to find this run again.</p> : null}
            <TagList tags={run.tags} />
            {run.note === '' ? null : <p className="max-w-prose whitespace-pre-wrap break-words">{run.note}</p>}
          </div>
        )}
      </div>
    </Card>
  );
}

function NotesForm({ run, onClose }: { readonly run: BenchmarkDetail; readonly onClose: () => void }) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const update = useMutation(trpc.benchmark.update.mutationOptions());
  const [tags, setTags] = useState(run.tags.join(', '));
  const [note, setNote] = useState(run.note);
  const failure = update.error === null ? null : readFailure(update.error);
  const tagError = Object.entries(failure?.fields ?? {}).find(([name]) => name.startsWith('tags'))?.[1];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      { runId: run.id, tags: parseTags(tags), note },
      {
        onSuccess: async () => {
          await queryClient.invalidateQueries(trpc.benchmark.pathFilter());
          onClose();
        },
      },
    );
  };
  return (
    <form noValidate onSubmit={submit} className="flex max-w-prose flex-col gap-4">
      <Field label="Tags" hint="Up to ten, separated by commas." error={tagError}>
        {(control) => <Input {...control} autoFocus value={tags} onChange={(event) => setTags(event.target.value)} />}
      </Field>
      <Field label="Note" hint="Up to 2000 characters." error={failure?.fields.note}>
        {(control) => <Textarea {...control} rows={4} value={note} onChange={(event) => setNote(event.target.value)} />}
      </Field>
      {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <footer className="flex gap-2">
        <SubmitButton variant="accent" pending={update.isPending}>
          Save notes
        </SubmitButton>
        <Button onClick={onClose}>Cancel</Button>
      </footer>
    </form>
  );
}
