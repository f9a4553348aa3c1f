'use client';
// Changes the password after the old one is proved, and ends every other session.
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field } from '@fairlead/ui/input';
import { PasswordInput } from '@fairlead/ui/password-input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import type { FormEvent } from 'react';
import { useTRPCClient } from '../../api/trpc.tsx';
import { useAccountCall } from './use-account-call.ts';

export function PasswordCard({ email }: { readonly email: string }) {
  const client = useTRPCClient();
  const call = useAccountCall();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const input = { current: String(data.get('current')), next: String(data.get('next')) };
    const done = await call.run(
      () => client.account.updatePassword.mutate(input),
      'Password changed. Other sessions were ended.',
    );
    if (done !== undefined) form.reset();
  };
  const fields = call.failure?.fields ?? {};
  return (
    <Card id="password" className="scroll-mt-4">
      <CardHeader title="Password" />
      <form onSubmit={submit} className="flex flex-col gap-4 border-line border-t px-4 py-4">
        {/* Tells password managers which account the password belongs to. */}
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        <Field label="Current password" error={fields.current}>
          {(control) => <PasswordInput {...control} name="current" autoComplete="current-password" required />}
        </Field>
        <Field label="New password" hint="At least 12 characters. Every other session ends." error={fields.next}>
          {(control) => <PasswordInput {...control} name="next" autoComplete="new-password" minLength={12} required />}
        </Field>
        {call.failure === null || Object.keys(fields).length > 0 ? null : <ErrorNote>{call.failure.message}</ErrorNote>}
        <SubmitButton pending={call.pending} className="self-start">
          Change password
        </SubmitButton>
      </form>
    </Card>
  );
}
