'use client';
// Creates a token: name, permissions, allowed addresses and expiry. Then shows the token this one time.
import { Button } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs } from '../../api/types.ts';
import { groupsOf, LIFETIMES, readRanges, scopesOf, type TokenPermission } from './permissions.ts';

export type NewToken = Inputs['token']['create'];

export interface CreateDialogProps {
  readonly title: string;
  readonly pending: boolean;
  readonly error: unknown;
  /** Token once it was created. */
  readonly token: string | null;
  readonly onCreate: (token: NewToken) => void;
  readonly onClose: () => void;
}

export function CreateDialog({ title, pending, error, token, onCreate, onClose }: CreateDialogProps) {
  return (
    <Dialog open onClose={onClose} wide title={token === null ? title : 'Copy your token now'}>
      {token === null ? (
        <CreateForm pending={pending} error={error} onCreate={onCreate} />
      ) : (
        <div className="flex flex-col gap-4">
          <p className="text-ink-soft">It is shown only once; Fairlead stores its hash. Keep it in a secret store.</p>
          <div className="flex items-start gap-2 rounded-control border border-line bg-sunken py-2 pr-2 pl-3">
            <code className="min-w-0 flex-1 break-all font-mono text-xs leading-5">{token}</code>
            <CopyButton value={token} label="Copy token" />
          </div>
          <div className="flex justify-end">
            <Button onClick={onClose}>Done</Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}

function CreateForm({ pending, error, onCreate }: Pick<CreateDialogProps, 'pending' | 'error' | 'onCreate'>) {
  const trpc = useTRPC();
  const grantable = useQuery(trpc.token.list.queryOptions()).data?.grantable ?? [];
  const projects = useQuery(trpc.project.list.queryOptions()).data?.items ?? [];
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<TokenPermission>>(new Set());
  const [scope, setScope] = useState('');
  const [ranges, setRanges] = useState('');
  const [days, setDays] = useState('90');
  const failure = error === null || error === undefined ? null : readFailure(error);
  const scopes = scopesOf(projects);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onCreate({
      name,
      permissions: [...chosen],
      ipRanges: readRanges(ranges),
      lifetimeDays: Number(days),
      ...scopes.find(({ value }) => value === scope)?.input,
    });
  };
  const toggle = (permission: TokenPermission) => {
    const next = new Set(chosen);
    if (!next.delete(permission)) next.add(permission);
    setChosen(next);
  };
  const rangeError = Object.entries(failure?.fields ?? {}).find(([field]) => field.startsWith('ipRanges'))?.[1];
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Field label="Name" hint="For example the script or pipeline that uses it." error={failure?.fields.name}>
        {(control) => <Input {...control} autoFocus value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <fieldset>
        <legend className="mb-1.5 font-medium">Permissions</legend>
        <div className="max-h-72 overflow-y-auto rounded-control border border-line px-3 pt-3">
          <div className="gap-x-6 sm:columns-2">
            {groupsOf(grantable).map(({ title, permissions }) => (
              <div key={title} className="flex break-inside-avoid flex-col gap-1.5 pb-3">
                <span className="text-ink-faint text-sm">{title}</span>
                {permissions.map(({ permission, label }) => (
                  <Checkbox
                    key={permission}
                    label={label}
                    title={permission}
                    checked={chosen.has(permission)}
                    onChange={() => toggle(permission)}
                  />
                ))}
              </div>
            ))}
          </div>
        </div>
      </fieldset>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field label="Scope">
          {(control) => (
            <Select {...control} value={scope} onChange={(event) => setScope(event.target.value)}>
              <option value="">Everywhere</option>
              {scopes.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Expires in" error={failure?.fields.lifetimeDays}>
          {(control) => (
            <Select {...control} value={days} onChange={(event) => setDays(event.target.value)}>
              {LIFETIMES.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          label="Allowed IPs"
          hint="Addresses or networks, such as 203.0.113.0/24. Default: any address"
          error={rangeError}
          className="sm:col-span-2"
        >
          {(control) => <Input {...control} mono value={ranges} onChange={(event) => setRanges(event.target.value)} />}
        </Field>
      </div>
      {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <div className="flex justify-end">
        <SubmitButton variant="accent" pending={pending} disabled={name.trim() === '' || chosen.size === 0}>
          Create token
        </SubmitButton>
      </div>
    </form>
  );
}
