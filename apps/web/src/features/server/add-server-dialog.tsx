'use client';
// Adds a server: asks for its name, shows the install command, and marks both steps done as they happen.
import { Button, buttonClass } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Steps } from '@fairlead/ui/steps';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { localAddressIn } from '../../common/server/local-address.ts';

/** Poll interval in milliseconds, a fallback where the live stream cannot connect. */
const ASK_EVERY_MS = 3000;

export function AddServerDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title="Add server"
      detail="Any Linux machine with the control plane's CPU architecture. Its agent connects out to the control plane, so no open port is needed."
    >
      <AddServer onClose={onClose} />
    </Dialog>
  );
}

export interface AddServerProps {
  readonly onClose: () => void;
  /** Takes the new server once its agent is connected. Default: a link to its page. */
  readonly onConnected?: (serverId: string) => void;
}

export function AddServer({ onClose, onConnected }: AddServerProps) {
  const trpc = useTRPC();
  const enrol = useFreshMutation(trpc.server.enrol.mutationOptions());
  const [name, setName] = useState('');
  const failure = enrol.error === null ? null : readFailure(enrol.error);
  if (enrol.data !== undefined) {
    return <Enrolment enrolment={enrol.data} onClose={onClose} onConnected={onConnected} />;
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    enrol.mutate({ name });
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Field label="Name" hint="Lower-case letters, digits and dashes." error={failure?.fields.name}>
        {(control) => (
          <Input
            {...control}
            mono
            autoFocus
            placeholder="frankfurt-1"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      {failure === null || failure.fields.name !== undefined ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <div className="flex justify-end">
        <SubmitButton variant="accent" pending={enrol.isPending} disabled={name.trim() === ''}>
          Create command
        </SubmitButton>
      </div>
    </form>
  );
}

interface EnrolmentProps {
  readonly enrolment: Outputs['server']['enrol'];
  readonly onClose: () => void;
  readonly onConnected: AddServerProps['onConnected'];
}

function Enrolment({ enrolment, onClose, onConnected }: EnrolmentProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const progress = useQuery({
    ...trpc.server.enrolment.queryOptions({ enrolmentId: enrolment.enrolmentId }),
    refetchInterval: (query) => (query.state.data?.serverConnected === true ? false : ASK_EVERY_MS),
  }).data;
  const enrolled = progress !== undefined && progress.usedAt !== null;
  const connected = progress?.serverConnected === true;
  return (
    <div className="flex flex-col gap-5">
      {localAddressIn(enrolment.command) === null ? null : (
        <WarnNote>This control plane has a localhost address, so the command works on this machine only.</WarnNote>
      )}
      <div>
        <p className="mb-2">
          Run this on the server, as root for full isolation. The token in it works once and expires{' '}
          <RelativeTime at={enrolment.expiresAt} className="text-ink-soft" />.
        </p>
        <div className="flex items-start gap-2 rounded-control border border-line bg-sunken py-2 pr-2 pl-3">
          <code className="min-w-0 flex-1 whitespace-pre-wrap break-all font-mono text-xs leading-5">
            {enrolment.command}
          </code>
          <CopyButton value={enrolment.command} label="Copy command" />
        </div>
        {enrolment.caFingerprint === null ? null : (
          <p className="mt-2 text-ink-soft text-xs">
            The command pins this control plane's own certificate authority. Its SHA-256 fingerprint:{' '}
            <code className="break-all font-mono">{enrolment.caFingerprint}</code>
          </p>
        )}
      </div>
      <Steps
        label="Progress"
        steps={[
          {
            id: 'enrolled',
            title: enrolled ? 'The server is enrolled' : 'Waiting for the command to run',
            state: enrolled ? 'done' : 'running',
          },
          {
            id: 'connected',
            title: connected ? 'Its agent is connected' : 'Its agent connects',
            state: connected ? 'done' : enrolled ? 'running' : 'pending',
          },
        ]}
      />
      <div className="flex justify-end gap-2">
        {connected && progress.serverId !== null && onConnected !== undefined ? (
          <ContinueButton serverId={progress.serverId} name={progress.name} onConnected={onConnected} />
        ) : connected && progress.serverId !== null ? (
          <HoverLink href={paths.server(progress.serverId)} className={buttonClass('accent')}>
            Open {progress.name}
          </HoverLink>
        ) : (
          <Button onClick={onClose}>Close</Button>
        )}
      </div>
    </div>
  );
}

interface ContinueButtonProps {
  readonly serverId: string;
  readonly name: string;
  readonly onConnected: (serverId: string) => void;
}

function ContinueButton({ serverId, name, onConnected }: ContinueButtonProps) {
  return (
    <Button variant="accent" onClick={() => onConnected(serverId)}>
      Continue with {name}
    </Button>
  );
}
