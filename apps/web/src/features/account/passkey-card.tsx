'use client';
// Adds, renames and removes passkeys.
import { authClient, hasPasskeys } from '@fairlead/auth/client';
import type { ErrorCode } from '@fairlead/contract/errors';
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { type FormEvent, type ReactNode, useState, useSyncExternalStore } from 'react';
import { useTRPCClient } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { proofError } from '../../common/identity/confirm-identity.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';
import { type AccountCall, useAccountCall } from './use-account-call.ts';

type Passkey = Outputs['account']['get']['passkeys'][number];
type PasskeyDialogState =
  | { readonly kind: 'add' }
  | { readonly kind: 'codes'; readonly codes: readonly string[] }
  | { readonly kind: 'rename' | 'remove'; readonly passkey: Passkey };

const never = () => () => undefined;

export function PasskeyCard({ passkeys }: { readonly passkeys: readonly Passkey[] }) {
  const [dialog, setDialog] = useState<PasskeyDialogState | null>(null);
  const canAdd = useSyncExternalStore(never, hasPasskeys, () => false);
  return (
    <Card id="passkeys" className="scroll-mt-4">
      <CardHeader
        title="Passkeys"
        action={
          canAdd ? (
            <Button size="small" onClick={() => setDialog({ kind: 'add' })}>
              Add passkey
            </Button>
          ) : null
        }
      />
      {passkeys.length === 0 ? (
        <p className="border-line border-t px-4 py-4 text-pretty text-ink-soft">
          A passkey signs you in with your finger, face or PIN instead of a password. It can't be guessed or phished.
        </p>
      ) : (
        <ul>
          {passkeys.map((passkey) => (
            <li key={passkey.id} className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3">
              <div className="min-w-0 flex-1 basis-56">
                <p className="truncate font-medium">{passkey.name}</p>
                <p className="text-sm text-ink-faint">
                  Added <RelativeTime at={passkey.createdAt} />
                  {passkey.lastUsedAt === null ? ', not used yet' : ', last used '}
                  {passkey.lastUsedAt === null ? null : <RelativeTime at={passkey.lastUsedAt} />}
                  {passkey.isSynced ? ', synced' : ', on one device only'}
                </p>
              </div>
              <span className="flex gap-2">
                <Button
                  size="small"
                  aria-label={`Rename ${passkey.name}`}
                  onClick={() => setDialog({ kind: 'rename', passkey })}
                >
                  Rename
                </Button>
                <Button
                  size="small"
                  variant="danger-outline"
                  aria-label={`Remove ${passkey.name}`}
                  onClick={() => setDialog({ kind: 'remove', passkey })}
                >
                  Remove
                </Button>
              </span>
            </li>
          ))}
        </ul>
      )}
      <PasskeyDialog dialog={dialog} onDialog={setDialog} />
    </Card>
  );
}

const TITLE = {
  add: 'Add passkey',
  codes: 'Your recovery codes',
  rename: 'Rename passkey',
  remove: 'Remove passkey',
};

interface PasskeyDialogProps {
  readonly dialog: PasskeyDialogState | null;
  readonly onDialog: (dialog: PasskeyDialogState | null) => void;
}

function PasskeyDialog({ dialog, onDialog }: PasskeyDialogProps) {
  const close = () => onDialog(null);
  const added = (codes: readonly string[]) => (codes.length === 0 ? close() : onDialog({ kind: 'codes', codes }));
  return (
    <Dialog
      open={dialog !== null}
      onClose={close}
      title={dialog === null ? '' : TITLE[dialog.kind]}
      held={dialog?.kind === 'codes'}
    >
      {dialog?.kind === 'remove' ? <RemoveForm passkey={dialog.passkey} onDone={close} /> : null}
      {dialog?.kind === 'rename' ? <RenameForm passkey={dialog.passkey} onDone={close} /> : null}
      {dialog?.kind === 'add' ? <AddForm onAdded={added} /> : null}
      {dialog?.kind === 'codes' ? <RecoveryCodes codes={dialog.codes} onDone={close} /> : null}
    </Dialog>
  );
}

/** Error for a passkey that the browser created and the API refused. */
class PasskeyRefused extends Error {
  readonly data: { readonly errorCode: ErrorCode };

  constructor(errorCode: ErrorCode) {
    super(`Fairlead didn't accept the new passkey (${errorCode}). Try again; your device may still offer this one.`);
    this.data = { errorCode };
  }
}

function AddForm({ onAdded }: { readonly onAdded: (recoveryCodes: readonly string[]) => void }) {
  const call = useAccountCall();
  const [isClosed, setClosed] = useState(false);
  /** Returns null when the person closed the browser's dialog. */
  const add = async (name: string): Promise<readonly string[] | null> => {
    const result = await authClient.addPasskey(name);
    if (result.ok) return result.recoveryCodes;
    if (result.errorCode === null) return null;
    throw proofError(result.errorCode) ?? new PasskeyRefused(result.errorCode);
  };
  const submit = async (name: string) => {
    setClosed(false);
    const codes = await call.run(() => add(name));
    if (codes === null) setClosed(true);
    else if (codes !== undefined) onAdded(codes);
  };
  return (
    <NameForm call={call} name="" action="Add passkey" onSubmit={submit}>
      {isClosed ? <ErrorNote>No passkey was created. Try again and follow the browser's prompts.</ErrorNote> : null}
    </NameForm>
  );
}

function RenameForm({ passkey, onDone }: { readonly passkey: Passkey; readonly onDone: () => void }) {
  const client = useTRPCClient();
  const call = useAccountCall();
  const submit = async (name: string) => {
    const input = { passkeyId: passkey.id, name };
    if ((await call.run(() => client.account.updatePasskey.mutate(input))) !== undefined) onDone();
  };
  return <NameForm call={call} name={passkey.name} action="Save" onSubmit={submit} />;
}

interface NameFormProps {
  readonly call: AccountCall;
  readonly name: string;
  readonly action: string;
  readonly onSubmit: (name: string) => Promise<void>;
  readonly children?: ReactNode;
}

function NameForm({ call, name, action, onSubmit, children }: NameFormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void onSubmit(String(new FormData(event.currentTarget).get('name')));
  };
  const error = call.failure?.fields.name;
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Name" hint="For example Laptop." error={error}>
        {(control) => <Input {...control} name="name" defaultValue={name} maxLength={60} autoFocus required />}
      </Field>
      {children}
      {call.failure === null || error !== undefined ? null : <ErrorNote>{call.failure.message}</ErrorNote>}
      <SubmitButton variant="accent" pending={call.pending} className="self-end">
        {action}
      </SubmitButton>
    </form>
  );
}

function RemoveForm({ passkey, onDone }: { readonly passkey: Passkey; readonly onDone: () => void }) {
  const client = useTRPCClient();
  const call = useAccountCall();
  const remove = async () => {
    const input = { passkeyId: passkey.id };
    if ((await call.run(() => client.account.deletePasskey.mutate(input), 'Passkey removed')) !== undefined) {
      onDone();
    }
  };
  return (
    <div className="flex flex-col gap-4">
      <p className="text-pretty text-ink-soft">
        <b className="font-medium text-ink">{passkey.name}</b> will no longer sign you in. Your device may still offer
        it; remove it there too.
      </p>
      {call.failure === null ? null : <ErrorNote>{call.failure.message}</ErrorNote>}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button variant="danger" pending={call.pending} onClick={() => void remove()}>
          Remove {passkey.name}
        </Button>
      </div>
    </div>
  );
}
