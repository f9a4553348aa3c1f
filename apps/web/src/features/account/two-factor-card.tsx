'use client';
// Two-factor sign-in: sets up an authenticator app and recovery codes, or turns it off.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { StateText } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import dynamic from 'next/dynamic';
import { useState } from 'react';
import { useTRPCClient } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { RecoveryCodes } from './recovery-codes.tsx';
import { useAccountCall } from './use-account-call.ts';

// Loads the QR code library only when the set-up begins.
const TwoFactorSetup = dynamic(() => import('./two-factor-setup.tsx').then((file) => file.TwoFactorSetup));

type Setup = Outputs['account']['beginTwoFactor'];
type Shown =
  | { readonly kind: 'setup'; readonly setup: Setup }
  | { readonly kind: 'codes'; readonly codes: readonly string[] }
  | { readonly kind: 'off' };

const TITLE = {
  setup: 'Set up two-factor sign-in',
  codes: 'Your recovery codes',
  off: 'Turn off two-factor sign-in',
};

export function TwoFactorCard({ account }: { readonly account: Outputs['account']['get'] }) {
  const toast = useToast();
  const client = useTRPCClient();
  const setting = useAccountCall();
  const renewal = useAccountCall();
  const failure = setting.failure ?? renewal.failure;
  const [shown, setShown] = useState<Shown | null>(null);
  const close = () => setShown(null);

  const begin = async () => {
    renewal.forget();
    const setup = await setting.run(() => client.account.beginTwoFactor.mutate());
    if (setup !== undefined) setShown({ kind: 'setup', setup });
  };
  const renew = async () => {
    setting.forget();
    const made = await renewal.run(() => client.account.rotateRecoveryCodes.mutate());
    if (made !== undefined) setShown({ kind: 'codes', codes: made.codes });
  };
  const turnedOn = (codes: readonly string[]) => {
    toast({ title: 'Two-factor sign-in is on' });
    // An account with a passkey already has recovery codes.
    setShown(codes.length === 0 ? null : { kind: 'codes', codes });
  };
  const hasFactor = account.hasSecondFactor || account.passkeys.length > 0;

  return (
    <Card id="two-factor" className="scroll-mt-4">
      <CardHeader title="Two-factor sign-in" />
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3 border-line border-t px-4 py-4">
        <div className="min-w-0 flex-1 basis-56">
          <StateText tone={account.hasSecondFactor ? 'ok' : 'idle'}>{account.hasSecondFactor ? 'On' : 'Off'}</StateText>
          <p className="text-pretty text-sm text-ink-faint">
            When on, sign-in asks for a code from your authenticator app after the password. A passkey needs no code.
          </p>
        </div>
        {account.hasSecondFactor ? (
          <Button variant="danger-outline" onClick={() => setShown({ kind: 'off' })}>
            Turn off
          </Button>
        ) : (
          <Button pending={setting.pending} onClick={() => void begin()}>
            Set up
          </Button>
        )}
      </div>
      {hasFactor ? (
        <div className="flex flex-wrap items-center gap-x-6 gap-y-3 border-line border-t px-4 py-4">
          <div className="min-w-0 flex-1 basis-56">
            <p className="font-medium">Recovery codes</p>
            <p className="text-pretty text-sm text-ink-faint">
              {account.recoveryCodesLeft} of 10 recovery codes left. Each works once in place of your passkey or app.
            </p>
          </div>
          <Button pending={renewal.pending} onClick={() => void renew()}>
            Renew recovery codes
          </Button>
        </div>
      ) : null}
      {failure === null ? null : <ErrorNote className="mx-4 mb-4">{failure.message}</ErrorNote>}
      <Dialog
        open={shown !== null}
        onClose={close}
        title={shown === null ? '' : TITLE[shown.kind]}
        held={shown?.kind === 'codes'}
      >
        {shown?.kind === 'setup' ? <TwoFactorSetup setup={shown.setup} onDone={turnedOn} /> : null}
        {shown?.kind === 'codes' ? <RecoveryCodes codes={shown.codes} onDone={close} /> : null}
        {shown?.kind === 'off' ? <TurnOff hasPasskey={account.passkeys.length > 0} onDone={close} /> : null}
      </Dialog>
    </Card>
  );
}

function TurnOff({ hasPasskey, onDone }: { readonly hasPasskey: boolean; readonly onDone: () => void }) {
  const client = useTRPCClient();
  const call = useAccountCall();
  const disable = async () => {
    const done = await call.run(() => client.account.disableTwoFactor.mutate(), 'Two-factor sign-in is off');
    if (done !== undefined) onDone();
  };
  return (
    <div className="flex flex-col gap-4">
      <p className="text-pretty text-ink-soft">
        You will sign in with your password only. Codes from your authenticator app stop working.{' '}
        {hasPasskey
          ? 'You keep your recovery codes. Organizations that require two-factor sign-in will ask for your passkey.'
          : 'Your recovery codes stop working too. Organizations that require two-factor sign-in will be closed to you.'}
      </p>
      {call.failure === null ? null : <ErrorNote>{call.failure.message}</ErrorNote>}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button variant="danger" pending={call.pending} onClick={() => void disable()}>
          Turn off
        </Button>
      </div>
    </div>
  );
}
