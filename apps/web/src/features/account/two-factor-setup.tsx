'use client';
// Set-up of an authenticator app: the secret as a QR code and as text, then the first code.
import { CopyButton } from '@fairlead/ui/copy-button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { QrCode } from '@fairlead/ui/qr-code';
import { SubmitButton } from '@fairlead/ui/submit-button';
import type { FormEvent } from 'react';
import { useTRPCClient } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useAccountCall } from './use-account-call.ts';

export interface TwoFactorSetupProps {
  readonly setup: Outputs['account']['beginTwoFactor'];
  readonly onDone: (recoveryCodes: readonly string[]) => void;
}

export function TwoFactorSetup({ setup, onDone }: TwoFactorSetupProps) {
  const client = useTRPCClient();
  const call = useAccountCall();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code'));
    const made = await call.run(() => client.account.confirmTwoFactor.mutate({ code }));
    if (made !== undefined) onDone(made.codes);
  };
  const error = call.failure?.fields.code;
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      <p className="text-pretty text-ink-soft">
        Scan this with your authenticator app, or type the key into it. Setup signs out your other sessions that have
        not proven a second factor.
      </p>
      <QrCode value={setup.uri} label="QR code with the key for your authenticator app" className="self-center" />
      <div className="flex items-center gap-1 rounded-control bg-sunken py-1 pr-1 pl-3">
        <code data-testid="two-factor-secret" className="min-w-0 flex-1 break-all font-mono text-sm">
          {setup.secret}
        </code>
        <CopyButton value={setup.secret} label="Copy key" />
      </div>
      <Field label="Code" hint="The six digits that the app shows now." error={error}>
        {(control) => (
          <Input
            {...control}
            mono
            name="code"
            inputMode="numeric"
            autoComplete="one-time-code"
            className="max-w-40"
            required
          />
        )}
      </Field>
      {call.failure === null || error !== undefined ? null : <ErrorNote>{call.failure.message}</ErrorNote>}
      <SubmitButton variant="accent" pending={call.pending} className="self-end">
        Turn on
      </SubmitButton>
    </form>
  );
}
