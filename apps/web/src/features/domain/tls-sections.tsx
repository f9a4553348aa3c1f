'use client';
// TLS settings of a domain's host, each section with its own save: lowest version, HSTS and client certificates.
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Textarea } from '@fairlead/ui/input';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { DomainDetail, DomainTls, DomainTlsChanges } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { ChoiceField } from '../../common/form/fields.tsx';
import { isLocalHost } from '../../common/local-ca/local-url.ts';
import { useMe } from '../../common/organization/me.tsx';

export function TlsSections({ domain }: { readonly domain: DomainDetail }) {
  const trpc = useTRPC();
  const tls = useQuery(trpc.domain.tls.queryOptions({ domainId: domain.id })).data;
  if (tls === undefined) return null;
  return (
    <div className="mb-6 flex flex-col gap-6">
      <VersionSection domain={domain} tls={tls} />
      {isLocalHost(domain.host) ? null : <HstsSection domain={domain} tls={tls} />}
      <ClientAuthSection domain={domain} tls={tls} />
    </div>
  );
}

interface SectionProps {
  readonly domain: DomainDetail;
  readonly tls: DomainTls;
}

/** Saves some of the settings; the others stay as they are. */
function useSave(domain: DomainDetail, section: string) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useMutation(trpc.domain.updateTls.mutationOptions());
  const save = (changes: DomainTlsChanges, onDone: () => void = () => undefined) =>
    update.mutate(
      { domainId: domain.id, ...changes },
      {
        onSuccess: () => {
          toast({ title: `${section} saved`, detail: `It holds for every path of ${domain.host}.` });
          void queryClient.invalidateQueries(trpc.domain.tls.pathFilter());
          onDone();
        },
      },
    );
  return { save, pending: update.isPending, failure: update.error === null ? null : readFailure(update.error) };
}

interface SectionFormProps {
  readonly title: string;
  readonly detail: string;
  readonly changed: boolean;
  readonly save: ReturnType<typeof useSave>;
  readonly onSave: () => void;
  readonly children: ReactNode;
}

function SectionForm({ title, detail, changed, save, onSave, children }: SectionFormProps) {
  const { can } = useMe();
  const isEditable = can('domain.write');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSave();
  };
  return (
    <Card>
      <CardHeader title={title} detail={detail} />
      <form onSubmit={submit} noValidate aria-label={title} className="border-line border-t p-4">
        <fieldset disabled={!isEditable} className="flex min-w-0 flex-col gap-4">
          {children}
          {save.failure === null ? null : (
            <ErrorNote>{Object.values(save.failure.fields)[0] ?? save.failure.message}</ErrorNote>
          )}
          {isEditable ? (
            <SubmitButton className="self-end" disabled={!changed} pending={save.pending}>
              Save
            </SubmitButton>
          ) : null}
        </fieldset>
      </form>
    </Card>
  );
}

function VersionSection({ domain, tls }: SectionProps) {
  const save = useSave(domain, 'TLS version');
  const [version, setVersion] = useState(tls.minTlsVersion);
  return (
    <SectionForm
      title="TLS version"
      detail="Older clients are rejected"
      changed={version !== tls.minTlsVersion}
      save={save}
      onSave={() => save.save({ minTlsVersion: version })}
    >
      <ChoiceField
        label="Minimum version"
        hint="TLS 1.3 excludes clients from before 2018, and some monitoring tools."
        value={version}
        options={[
          { value: '1.2', label: 'TLS 1.2' },
          { value: '1.3', label: 'TLS 1.3' },
        ]}
        onValue={setVersion}
      />
    </SectionForm>
  );
}

const DAY_SECONDS = 86_400;
const AGES = [
  { value: '300', label: '5 minutes' },
  { value: `${30 * DAY_SECONDS}`, label: '30 days' },
  { value: `${365 * DAY_SECONDS}`, label: '1 year' },
  { value: `${730 * DAY_SECONDS}`, label: '2 years' },
] as const;

function HstsSection({ domain, tls }: SectionProps) {
  const save = useSave(domain, 'HSTS');
  const [hsts, setHsts] = useState(tls.hsts);
  const [confirming, setConfirming] = useState(false);
  const startsPreload = hsts?.preload === true && tls.hsts?.preload !== true;
  const ages = AGES.some(({ value }) => value === `${hsts?.maxAgeSeconds}`)
    ? AGES
    : [...AGES, { value: `${hsts?.maxAgeSeconds}`, label: `${hsts?.maxAgeSeconds} seconds` }];
  return (
    <>
      <SectionForm
        title="HSTS"
        detail="Browsers use only HTTPS for this host"
        changed={JSON.stringify(hsts) !== JSON.stringify(tls.hsts)}
        save={save}
        onSave={() => (startsPreload ? setConfirming(true) : save.save({ hsts }))}
      >
        <Checkbox
          label="Send Strict-Transport-Security"
          hint="Sent over HTTPS only. Replaces the app's own header."
          checked={hsts !== null}
          onChange={(event) =>
            setHsts(
              event.target.checked
                ? { maxAgeSeconds: 30 * DAY_SECONDS, includeSubdomains: false, preload: false }
                : null,
            )
          }
        />
        {hsts === null ? null : (
          <>
            <ChoiceField
              label="Max age"
              hint="Browsers remember the rule for this long. Start with a short time."
              value={`${hsts.maxAgeSeconds}`}
              options={ages}
              onValue={(seconds) => setHsts({ ...hsts, maxAgeSeconds: Number(seconds) })}
            />
            <Checkbox
              label="Include subdomains"
              hint={`Every name below ${domain.host} then needs HTTPS too, including names outside Fairlead.`}
              checked={hsts.includeSubdomains}
              onChange={(event) =>
                setHsts({
                  ...hsts,
                  includeSubdomains: event.target.checked,
                  preload: event.target.checked && hsts.preload,
                })
              }
            />
            <Checkbox
              label="Preload"
              hint="Lets browser vendors put the host on their preload list. Needs subdomains and at least one year."
              checked={hsts.preload}
              onChange={(event) =>
                setHsts(
                  event.target.checked
                    ? {
                        maxAgeSeconds: Math.max(hsts.maxAgeSeconds, 365 * DAY_SECONDS),
                        includeSubdomains: true,
                        preload: true,
                      }
                    : { ...hsts, preload: false },
                )
              }
            />
          </>
        )}
      </SectionForm>
      <ConfirmDialog
        open={confirming}
        title="Allow HSTS preload"
        action="Allow preload"
        pending={save.pending}
        onClose={() => setConfirming(false)}
        onConfirm={() => save.save({ hsts }, () => setConfirming(false))}
      >
        <p>
          Once <span className="font-mono">{domain.host}</span> is on the preload list, browsers refuse plain HTTP for
          it and for every name below it, without ever asking the server.
        </p>
        <p>
          This is hard to undo: a removal takes months to reach all browsers, and old versions keep the rule. Allow it
          only if every subdomain serves HTTPS, and will for years.
        </p>
      </ConfirmDialog>
    </>
  );
}

type Mode = 'off' | 'required' | 'optional';

function ClientAuthSection({ domain, tls }: SectionProps) {
  const save = useSave(domain, 'Client certificates');
  const [mode, setMode] = useState<Mode>(tls.clientAuth?.mode ?? 'off');
  const [caPem, setCaPem] = useState(tls.clientAuth?.caPem ?? '');
  const isChanged = mode !== (tls.clientAuth?.mode ?? 'off') || (mode !== 'off' && caPem !== tls.clientAuth?.caPem);
  return (
    <SectionForm
      title="Client certificates"
      detail="Mutual TLS: visitors show a certificate"
      changed={isChanged}
      save={save}
      onSave={() => save.save({ clientAuth: mode === 'off' ? null : { mode, caPem } })}
    >
      <ChoiceField
        label="Client certificate"
        hint={
          mode === 'required'
            ? 'Visitors need a valid certificate. HTTP/3 is off for this host, and plain HTTP redirects to HTTPS.'
            : mode === 'optional'
              ? 'The app gets the certificate, if there is one, in the header Client-Cert. HTTP/3 is off for this host, and plain HTTP redirects to HTTPS.'
              : 'Visitors need no certificate.'
        }
        value={mode}
        options={[
          { value: 'off', label: 'Off' },
          { value: 'optional', label: 'Optional' },
          { value: 'required', label: 'Required' },
        ]}
        onValue={setMode}
      />
      {mode === 'off' ? null : (
        <>
          <Field label="Client CA certificates" hint="PEM of each authority that issues certificates to your visitors.">
            {(control) => (
              <Textarea
                {...control}
                mono
                rows={6}
                autoComplete="off"
                spellCheck={false}
                placeholder="-----BEGIN CERTIFICATE-----"
                value={caPem}
                onChange={(event) => setCaPem(event.target.value)}
              />
            )}
          </Field>
          {tls.authorities.length === 0 ? null : (
            <ul aria-label="Saved authorities" className="rounded-control border border-line text-sm">
              {tls.authorities.map(({ subject, fingerprint, notAfter }) => (
                <li key={fingerprint} className="flex flex-wrap gap-x-3 border-line border-b px-3 py-2 last:border-b-0">
                  <span className="break-all">{subject}</span>
                  <span className="ml-auto text-ink-faint">
                    expires <RelativeTime at={notAfter} />
                  </span>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </SectionForm>
  );
}
