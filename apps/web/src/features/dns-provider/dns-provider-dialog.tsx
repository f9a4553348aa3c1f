'use client';
// Adds a DNS provider, or changes one. Credentials are never shown again.
import type { DnsProviderKind, DnsProviderView } from '@fairlead/core/dns-provider/schema';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Input, Select, Textarea } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { type CredentialField, type CredentialValues, credentialsOf, KINDS, PROVIDERS, zonesOf } from './fields.ts';

export interface DnsProviderDialogProps {
  /** Provider to change; null adds one. */
  readonly provider: DnsProviderView | null;
  readonly onClose: () => void;
}

export function DnsProviderDialog({ provider, onClose }: DnsProviderDialogProps) {
  const formId = useId();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  // Drops the values from the browser's caches as soon as they were sent.
  const create = useFreshMutation(trpc.dnsProvider.create.mutationOptions({ gcTime: 0 }));
  const update = useFreshMutation(trpc.dnsProvider.update.mutationOptions({ gcTime: 0 }));
  const [kind, setKind] = useState<DnsProviderKind>(provider?.kind ?? 'cloudflare');
  const [zones, setZones] = useState(provider?.zones.join('\n') ?? '');
  const [preferred, setPreferred] = useState(provider?.preferred ?? false);
  const [values, setValues] = useState<CredentialValues>({ ...provider?.settings });
  const { fields } = PROVIDERS[kind];
  const hasSecret = fields.some(({ name, isSecret }) => isSecret === true && (values[name] ?? '') !== '');
  const { error } = provider === null ? create : update;
  const failure = error === null || wasCancelled(error) ? null : readFailure(error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const onSuccess = () => {
      void queryClient.invalidateQueries(trpc.dnsProvider.pathFilter());
      onClose();
    };
    const common = { zones: [...zonesOf(zones)], preferred };
    const credentials = credentialsOf(kind, values);
    if (provider === null) create.mutate({ ...common, credentials }, { onSuccess });
    else {
      const change = { dnsProviderId: provider.id, ...common };
      update.mutate(hasSecret ? { ...change, credentials } : change, { onSuccess });
    }
  };
  const isIncomplete = zonesOf(zones).length === 0 || (provider === null && !hasSecret);
  return (
    <Dialog
      open
      onClose={onClose}
      title={provider === null ? 'Add DNS provider' : `Change ${PROVIDERS[kind].label}`}
      detail="Fairlead sets TXT records there to validate your domains. The credentials stay in the control plane."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton
            form={formId}
            variant="accent"
            pending={create.isPending || update.isPending}
            disabled={isIncomplete}
          >
            Save
          </SubmitButton>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-4">
        {provider === null ? (
          <Field label="Provider">
            {(control) => (
              <Select {...control} value={kind} onChange={(event) => setKind(event.target.value as DnsProviderKind)}>
                {KINDS.map((each) => (
                  <option key={each} value={each}>
                    {PROVIDERS[each].label}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        ) : null}
        <Field label="Zones" hint="One name in each line, such as example.com." error={failure?.fields.zones}>
          {(control) => (
            <Textarea
              {...control}
              mono
              rows={2}
              spellCheck={false}
              value={zones}
              onChange={(event) => setZones(event.target.value)}
            />
          )}
        </Field>
        {fields.map((field) => (
          <CredentialInput
            key={field.name}
            field={field}
            isStored={provider !== null}
            value={values[field.name] ?? ''}
            error={failure?.fields[`credentials.${field.name}`] ?? failure?.fields[field.name]}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        <Checkbox
          checked={preferred}
          onChange={(event) => setPreferred(event.target.checked)}
          label="Use for every name of these zones"
          hint="Otherwise only for wildcards, and for names that can't be reached on ports 80 and 443."
        />
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
      </form>
    </Dialog>
  );
}

interface CredentialInputProps {
  readonly field: CredentialField;
  readonly isStored: boolean;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

function CredentialInput({ field, isStored, value, error, onChange }: CredentialInputProps) {
  const { label, hint, placeholder, isSecret, options } = field;
  const stored = isStored && isSecret === true ? 'Leave empty to keep the stored one.' : undefined;
  const text = stored ?? hint;
  return (
    <Field label={label} {...(text === undefined ? {} : { hint: text })} error={error}>
      {(control) =>
        options === undefined ? (
          <Input
            {...control}
            mono
            spellCheck={false}
            type={isSecret === true ? 'password' : 'text'}
            autoComplete={isSecret === true ? 'new-password' : 'off'}
            placeholder={placeholder}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        ) : (
          <Select {...control} value={value || options[0]} onChange={(event) => onChange(event.target.value)}>
            {options.map((option) => (
              <option key={option}>{option}</option>
            ))}
          </Select>
        )
      }
    </Field>
  );
}
