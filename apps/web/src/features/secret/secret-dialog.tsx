'use client';
// Edits a secret: name, new value, delivery to the app, and if it can be revealed again.
import { nameProblem, valueProblem } from '@fairlead/core/secret/rules';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Input, Select, Textarea } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import type { SecretOwner, SecretView } from '../../api/types.ts';
import { useRefetchSecrets, useUpdateSecrets } from './use-secret-calls.ts';

export interface SecretDialogProps {
  readonly owner: SecretOwner;
  /** Secret to change; null for a new one. */
  readonly secret: SecretView | null;
  /** Name of a new secret if it is known; otherwise the reader types it. */
  readonly name?: string;
  readonly onClose: () => void;
}

export function SecretDialog({ owner, secret, name: knownName = secret?.name ?? '', onClose }: SecretDialogProps) {
  const formId = useId();
  const refetch = useRefetchSecrets();
  const update = useUpdateSecrets();
  const [name, setName] = useState(knownName);
  const [value, setValue] = useState('');
  const [delivery, setDelivery] = useState(secret?.delivery ?? 'environment');
  const [sealed, setSealed] = useState(secret?.sealed ?? true);
  const [atBuild, setAtBuild] = useState(secret?.atBuild ?? false);
  const [expires, setExpires] = useState(secret?.expiresAt?.toISOString().slice(0, 10) ?? '');
  const nameError = name === '' ? null : nameProblem(name);
  const keepsValue = secret !== null && value === '';
  const cannotUnseal = keepsValue && secret.sealed && !sealed;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      {
        owner,
        items: [
          {
            name,
            delivery,
            sealed,
            atBuild,
            expiresAt: expires === '' ? null : new Date(`${expires}T00:00:00Z`),
            ...(keepsValue ? {} : { value }),
          },
        ],
      },
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
      title={titleOf(secret, knownName)}
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
        {knownName === '' ? (
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
              autoFocus={knownName !== ''}
              autoComplete="off"
              spellCheck={false}
              value={value}
              onChange={(event) => setValue(event.target.value)}
            />
          )}
        </Field>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Delivered as">
            {(control) => (
              <Select
                {...control}
                value={delivery}
                onChange={(event) => setDelivery(event.target.value === 'file' ? 'file' : 'environment')}
              >
                <option value="environment">Environment variable</option>
                <option value="file">File in $FAIRLEAD_SECRETS</option>
              </Select>
            )}
          </Field>
          <Field label="Expires on" hint="You are reminded two weeks before.">
            {(control) => (
              <Input {...control} type="date" value={expires} onChange={(event) => setExpires(event.target.value)} />
            )}
          </Field>
        </div>
        <Checkbox
          label="Sealed: this value can't be viewed again"
          checked={sealed}
          onChange={(event) => setSealed(event.target.checked)}
        />
        <div className="flex flex-col gap-1.5">
          <Checkbox
            label="Also at build time"
            aria-describedby={`${formId}-at-build`}
            checked={atBuild}
            onChange={(event) => setAtBuild(event.target.checked)}
          />
          <p id={`${formId}-at-build`} className="pl-[26px] text-ink-faint text-sm">
            Build commands get it as a variable. Dockerfile builds don't, because it would stay readable in the image.
          </p>
        </div>
        {cannotUnseal ? <ErrorNote>A sealed value stays sealed. Give it a new value to unseal it.</ErrorNote> : null}
        {update.error === null ? null : <ErrorNote>{readFailure(update.error).message}</ErrorNote>}
      </form>
    </Dialog>
  );
}

function titleOf(secret: SecretView | null, knownName: string): string {
  if (secret !== null) return `Change ${secret.name}`;
  return knownName === '' ? 'Add secret' : `Add ${knownName}`;
}
