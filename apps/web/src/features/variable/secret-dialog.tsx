'use client';
// Edits a secret: name, new value, delivery to the app, and if it can be revealed again.
import { nameProblem, valueProblem } from '@fairlead/core/secret/rules';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Textarea } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import type { SecretOwner, SecretView } from '../../api/types.ts';
import { draftOf, fieldsOf, newSecretDraft, SecretOptions } from './secret-options.tsx';
import { useRefetchVariables, useUpdateSecrets } from './use-variable-calls.ts';

export interface SecretDialogProps {
  readonly owner: SecretOwner;
  /** Secret to change; null for a new one. */
  readonly secret: SecretView | null;
  readonly onClose: () => void;
}

export function SecretDialog({ owner, secret, onClose }: SecretDialogProps) {
  const formId = useId();
  const refetch = useRefetchVariables();
  const update = useUpdateSecrets();
  const [name, setName] = useState(secret?.name ?? '');
  const [value, setValue] = useState('');
  const [draft, setDraft] = useState(secret === null ? newSecretDraft : draftOf(secret));
  const nameError = name === '' ? null : nameProblem(name);
  const keepsValue = secret !== null && value === '';
  const cannotUnseal = keepsValue && secret.sealed && !draft.sealed;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      { owner, items: [{ name, ...fieldsOf(draft), ...(keepsValue ? {} : { value }) }] },
      {
        onSuccess: () => {
          refetch();
          onClose();
        },
      },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={secret === null ? 'Add secret' : `Change ${secret.name}`}
      detail="Takes effect with the next deployment, or when you apply it."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton
            form={formId}
            variant="accent"
            pending={update.isPending}
            disabled={name === '' || nameError !== null || valueProblem(value) !== null || cannotUnseal}
          >
            Save
          </SubmitButton>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-4">
        {secret === null ? (
          <Field label="Name" error={nameError ?? undefined} hint="Capital letters, digits and _">
            {(control) => (
              <Input
                {...control}
                mono
                autoFocus
                autoComplete="off"
                spellCheck={false}
                placeholder="DATABASE_URL"
                value={name}
                onChange={(event) => setName(event.target.value.toUpperCase())}
              />
            )}
          </Field>
        ) : null}
        <Field
          label={secret === null ? 'Value' : 'New value'}
          error={valueProblem(value) ?? undefined}
          hint={
            secret === null
              ? `Refer to others with $\{{ NAME }} or $\{{ group.NAME }}.`
              : 'Leave blank to keep the value.'
          }
        >
          {(control) => (
            <Textarea
              {...control}
              mono
              rows={3}
              autoFocus={secret !== null}
              autoComplete="off"
              spellCheck={false}
              value={value}
              onChange={(event) => setValue(event.target.value)}
            />
          )}
        </Field>
        <SecretOptions draft={draft} onDraft={setDraft} />
        {cannotUnseal ? <ErrorNote>A sealed value stays sealed. Give it a new value to unseal it.</ErrorNote> : null}
        {update.error === null ? null : <ErrorNote>{readFailure(update.error).message}</ErrorNote>}
      </form>
    </Dialog>
  );
}
