'use client';
// Sets a user name and a password or token; the value is never shown again.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { StateMark } from '@fairlead/ui/state-pill';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { type PasswordKind, passwordHost } from '../../common/app/source-host.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

const WORDS: Record<PasswordKind, { readonly title: string; readonly detail: string }> = {
  https: {
    title: 'Repository password',
    detail: 'A token with read access to this repository is enough.',
  },
  registry: {
    title: 'Registry password',
    detail: 'The server pulls the image with it. A token with pull access is enough.',
  },
};

export interface PasswordDialogProps {
  readonly app: Pick<AppDetail, 'id' | 'repositoryUrl' | 'image'>;
  /** Host of the password that this one replaces; empty without one. */
  readonly storedHost: string;
  readonly kind: PasswordKind;
  readonly onClose: () => void;
}

export function PasswordDialog({ app, storedHost, kind, onClose }: PasswordDialogProps) {
  const formId = useId();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  // Drops the value from the browser's caches as soon as it was sent.
  const save = useFreshMutation(trpc.credential.update.mutationOptions({ gcTime: 0 }));
  const passwordTarget = passwordHost(kind, app, storedHost);
  const [host, setHost] = useState(passwordTarget.host);
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const failure = save.error === null ? null : readFailure(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(
      { appId: app.id, kind, host, username, password },
      {
        onSuccess: () => {
          void queryClient.invalidateQueries(trpc.credential.pathFilter());
          onClose();
        },
      },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={WORDS[kind].title}
      detail={WORDS[kind].detail}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton
            form={formId}
            variant="accent"
            pending={save.isPending}
            disabled={host.trim() === '' || username === '' || password === ''}
          >
            Save
          </SubmitButton>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-4">
        {passwordTarget.warning === null ? null : (
          <p className="flex items-baseline gap-2.5 rounded-card bg-warn-wash px-4 py-3">
            <StateMark tone="warn" />
            <span className="min-w-0 text-pretty">{passwordTarget.warning}</span>
          </p>
        )}
        <Field label="Host" hint="Fairlead sends the password to this host only." error={failure?.fields.host}>
          {(control) => (
            <Input
              {...control}
              mono
              autoComplete="off"
              spellCheck={false}
              placeholder={kind === 'https' ? 'git.example.com' : 'registry.example.com'}
              value={host}
              onChange={(event) => setHost(event.target.value)}
            />
          )}
        </Field>
        <Field label="User name" error={failure?.fields.username}>
          {(control) => (
            <Input
              {...control}
              mono
              autoFocus
              autoComplete="off"
              spellCheck={false}
              value={username}
              onChange={(event) => setUsername(event.target.value)}
            />
          )}
        </Field>
        <Field label="Password or token" error={failure?.fields.password}>
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="new-password"
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
      </form>
    </Dialog>
  );
}
