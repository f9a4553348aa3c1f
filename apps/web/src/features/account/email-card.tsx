'use client';
// Email address: shows if it is confirmed; a change is confirmed by a mail to the new address.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { StateText } from '@fairlead/ui/state-pill';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { type FormEvent, useState } from 'react';
import { useTRPCClient } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useAccountCall } from './use-account-call.ts';

export function EmailCard({ account }: { readonly account: Outputs['account']['get'] }) {
  const client = useTRPCClient();
  const verify = useAccountCall();
  const change = useAccountCall();
  const [sentTo, setSentTo] = useState<string | null>(null);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const email = String(new FormData(form).get('email'));
    const done = await change.run(() => client.account.requestEmailChange.mutate({ email }));
    if (done === undefined) return;
    setSentTo(email);
    form.reset();
  };

  return (
    <Card id="email" className="scroll-mt-4">
      <CardHeader title="Email" />
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3 border-line border-t px-4 py-4">
        <div className="min-w-0 flex-1 basis-56">
          <p className="break-words font-medium">{account.email}</p>
          <StateText tone={account.isEmailVerified ? 'ok' : 'warn'}>
            {account.isEmailVerified ? 'Confirmed' : 'Not confirmed yet'}
          </StateText>
        </div>
        {account.isEmailVerified || !account.canMail ? null : (
          <Button
            pending={verify.pending}
            onClick={() => void verify.run(() => client.account.sendVerification.mutate(), 'Link sent')}
          >
            Send link
          </Button>
        )}
      </div>
      {verify.failure === null ? null : <ErrorNote className="mx-4 mb-4">{verify.failure.message}</ErrorNote>}
      {account.canMail ? (
        <form onSubmit={submit} className="flex flex-col gap-4 border-line border-t px-4 py-4">
          <Field
            label="New email address"
            hint="It changes when you open the link in the email sent there."
            error={change.failure?.fields.email}
          >
            {(control) => <Input {...control} name="email" type="email" autoComplete="email" required />}
          </Field>
          {change.failure === null || change.failure.fields.email !== undefined ? null : (
            <ErrorNote>{change.failure.message}</ErrorNote>
          )}
          {sentTo === null ? null : (
            <p role="status" className="break-words text-ink-soft">
              If no account uses {sentTo}, an email was sent there. Its link works for an hour.
            </p>
          )}
          <SubmitButton pending={change.pending} className="self-start">
            Change address
          </SubmitButton>
        </form>
      ) : (
        <p className="border-line border-t px-4 py-4 text-pretty text-sm text-ink-soft">
          Email is not configured, so you can't confirm or change your address. Ask the operator to set
          mail.smtp_url_file and mail.from.
        </p>
      )}
    </Card>
  );
}
