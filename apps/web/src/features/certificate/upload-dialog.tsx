'use client';
// Uploads a chain with its private key, pasted or dropped as files, or replaces an upload by another.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Textarea } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { splitPem } from './split-pem.ts';

export interface UploadDialogProps {
  /** Id of the upload that this one replaces; null for a new one. */
  readonly replaces: string | null;
  readonly onClose: () => void;
}

/** Larger files are no certificates. */
const fileBytesMax = 128 * 1024;

export function UploadDialog({ replaces, onClose }: UploadDialogProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const formId = useId();
  const add = useFreshMutation(trpc.certificate.add.mutationOptions());
  const update = useFreshMutation(trpc.certificate.update.mutationOptions());
  const [chainPem, setChainPem] = useState('');
  const [keyPem, setKeyPem] = useState('');
  const error = add.error ?? update.error;
  const failure = error === null || wasCancelled(error) ? null : readFailure(error);
  const hasFields = failure !== null && Object.keys(failure.fields).length > 0;
  const settle = {
    onSuccess: ({ names, notes }: { readonly names: readonly string[]; readonly notes: readonly string[] }) => {
      toast({
        title: replaces === null ? 'Certificate uploaded' : 'Certificate replaced',
        detail: [`It covers ${names.join(', ')}.`, ...notes].join(' '),
      });
      void queryClient.invalidateQueries(trpc.certificate.pathFilter());
      onClose();
    },
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (replaces === null) add.mutate({ chainPem, keyPem }, settle);
    else update.mutate({ certificateId: replaces, chainPem, keyPem }, settle);
  };
  const drop = async (event: DragEvent) => {
    const files = [...event.dataTransfer.files].filter(({ size }) => size <= fileBytesMax);
    if (files.length === 0) return;
    event.preventDefault();
    const texts = await Promise.all(files.map((file) => file.text()));
    const dropped = splitPem(texts.join('\n'));
    if (dropped.chainPem !== '') setChainPem(dropped.chainPem);
    if (dropped.keyPem !== '') setKeyPem(dropped.keyPem);
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={replaces === null ? 'Upload certificate' : 'Replace certificate'}
      detail="Visitors get this certificate for every domain that it covers, instead of an ordered one, until it expires. Fairlead can't renew it: upload a new one before it expires."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton variant="accent" form={formId} pending={add.isPending || update.isPending}>
            {replaces === null ? 'Upload certificate' : 'Replace certificate'}
          </SubmitButton>
        </>
      }
    >
      <form
        id={formId}
        noValidate
        aria-label="Certificate"
        className="flex flex-col gap-4"
        onSubmit={submit}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => void drop(event)}
      >
        <Field
          label="Certificate chain"
          hint="PEM: your certificate, then those of the authority. Drop files here, or paste their text."
          error={failure?.fields.chainPem}
        >
          {(control) => (
            <Textarea
              {...control}
              mono
              rows={7}
              autoFocus
              autoComplete="off"
              spellCheck={false}
              placeholder="-----BEGIN CERTIFICATE-----"
              value={chainPem}
              onChange={(event) => setChainPem(event.target.value)}
            />
          )}
        </Field>
        <Field
          label="Private key"
          hint="PEM, not encrypted. It is stored encrypted, goes only to your servers, and can't be viewed again."
          error={failure?.fields.keyPem}
        >
          {(control) => (
            <Textarea
              {...control}
              mono
              rows={5}
              autoComplete="off"
              spellCheck={false}
              placeholder="-----BEGIN PRIVATE KEY-----"
              value={keyPem}
              onChange={(event) => setKeyPem(event.target.value)}
            />
          )}
        </Field>
        {failure === null || hasFields ? null : <ErrorNote>{failure.message}</ErrorNote>}
      </form>
    </Dialog>
  );
}
