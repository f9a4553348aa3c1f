'use client';
// Creates a webhook of an app or rotates one, then shows its token or secret this one time.
import { Button } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Inputs } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { type Webhook, WebhookUrl } from './webhooks-card.tsx';

type Kind = Inputs['webhook']['create']['kind'];

export interface WebhookDialogProps {
  readonly appId: AppDetail['id'];
  /** Webhook to rotate; null creates one. */
  readonly webhook: Webhook | null;
  readonly onClose: () => void;
}

export function WebhookDialog({ appId, webhook, onClose }: WebhookDialogProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  // The browser's caches drop the credential as soon as it was shown.
  const create = useFreshMutation(trpc.webhook.create.mutationOptions({ gcTime: 0 }));
  const rotate = useFreshMutation(trpc.webhook.rotate.mutationOptions({ gcTime: 0 }));
  const [kind, setKind] = useState<Kind>(webhook?.kind ?? 'signature');
  const { data, error, isPending } = webhook === null ? create : rotate;
  const failure = error === null || wasCancelled(error) ? null : readFailure(error);
  const word = kind === 'token' ? 'token' : 'secret';
  const onSuccess = () => {
    void queryClient.invalidateQueries(trpc.webhook.pathFilter());
    void queryClient.invalidateQueries(trpc.push.pathFilter());
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name') ?? '').trim();
    if (webhook === null) create.mutate({ appId, name, kind }, { onSuccess });
    else rotate.mutate({ appId, webhookId: webhook.id }, { onSuccess });
  };
  if (data !== undefined) {
    return (
      <Dialog open onClose={onClose} wide title={`Copy the ${word} now`}>
        <div className="flex flex-col gap-4">
          <p className="text-ink-soft">It is shown only once. Enter it and the URL at your git host.</p>
          <div className="flex items-start gap-2 rounded-control border border-line bg-sunken py-2 pr-2 pl-3">
            <code className="min-w-0 flex-1 break-all font-mono text-xs leading-5">{data.credential}</code>
            <CopyButton value={data.credential} label={`Copy ${word}`} />
          </div>
          <WebhookUrl id={data.id} />
          <div className="flex justify-end">
            <Button onClick={onClose}>Done</Button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog open onClose={onClose} title={webhook === null ? 'Create webhook' : `Rotate ${webhook.name}`}>
      <form onSubmit={submit} noValidate className="flex flex-col gap-4">
        {webhook === null ? (
          <>
            <Field label="Name" hint="For example the git host that uses it." error={failure?.fields.name}>
              {(control) => <Input {...control} autoFocus name="name" />}
            </Field>
            <Field
              label="Authentication"
              hint={
                kind === 'token'
                  ? 'GitLab and scripts send the token in a header.'
                  : 'Gitea, Forgejo and GitHub sign each request with the secret.'
              }
            >
              {(control) => (
                <Select {...control} value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
                  <option value="signature">Signed body (HMAC-SHA256)</option>
                  <option value="token">Token</option>
                </Select>
              )}
            </Field>
          </>
        ) : (
          <p className="text-ink-soft">
            The URL stays the same. Requests with the current {word} are rejected as soon as the new one exists.
          </p>
        )}
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
        <div className="flex justify-end">
          <SubmitButton variant="accent" pending={isPending}>
            {webhook === null ? 'Create webhook' : `Rotate ${word}`}
          </SubmitButton>
        </div>
      </form>
    </Dialog>
  );
}
