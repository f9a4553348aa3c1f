'use client';
// Settings of a server's whole proxy: trusted proxies, protocols and access logs. Saved changes take effect at once.
import { Card, CardHeader } from '@fairlead/ui/card';
import { Checkbox } from '@fairlead/ui/input';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { changedFields } from '../../common/form/changed-fields.ts';
import { fieldError } from '../../common/form/field-error.ts';
import { ChoiceField, NumberField } from '../../common/form/fields.tsx';
import { RangesField } from '../../common/form/ranges-field.tsx';
import { SaveBar } from '../../common/form/save-bar.tsx';
import { useMe } from '../../common/organization/me.tsx';

type Proxy = ServerDetail['proxy'];

interface Draft {
  readonly proxy: Proxy;
  readonly change: (part: Partial<Proxy>) => void;
  /** Returns the API's error for a field by its path below `proxy`. */
  readonly problem: (path: string) => string | undefined;
}

export function ProxyForm({ server }: { readonly server: ServerDetail }) {
  const [edition, setEdition] = useState(0);
  return <Form key={edition} server={server} onEnd={() => setEdition((count) => count + 1)} />;
}

function Form({ server, onEnd }: { readonly server: ServerDetail; readonly onEnd: () => void }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useMutation(trpc.server.updateProxy.mutationOptions());
  const [proxy, setProxy] = useState<Proxy>(server.proxy);
  const [saved] = useState<Proxy>(server.proxy);
  const failure = update.error === null ? null : readFailure(update.error);
  const draft: Draft = {
    proxy,
    change: (part) => setProxy((all) => ({ ...all, ...part })),
    problem: (path) => (failure === null ? undefined : fieldError(failure.fields, 'proxy', path)),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      { serverId: server.id, proxy },
      {
        onSuccess: async () => {
          toast({ title: 'Saved', detail: `${server.name} applies it as soon as it receives it.` });
          await queryClient.invalidateQueries(trpc.server.pathFilter());
          onEnd();
        },
      },
    );
  };
  const readOnly = !can('server.write');
  return (
    <form onSubmit={submit} noValidate aria-label="Proxy" className="flex flex-col gap-6">
      <Card>
        <CardHeader title="Proxy" detail="For all apps and domains here; takes effect as soon as it is saved" />
        <fieldset
          disabled={readOnly}
          className="grid min-w-0 grid-cols-1 border-line border-t lg:grid-cols-2 lg:divide-x lg:divide-line"
        >
          <TrustedProxyFields draft={draft} />
          <AccessLog draft={draft} />
        </fieldset>
        {readOnly ? (
          <p className="px-4 pb-4 text-ink-faint text-sm">
            Read-only. You need the permission “Change servers” to change this.
          </p>
        ) : null}
      </Card>
      {readOnly ? null : (
        <SaveBar
          changed={changedFields(saved, proxy).length}
          pending={update.isPending}
          failure={failure}
          onDiscard={onEnd}
        />
      )}
    </form>
  );
}

const TRUST_HINT = 'Only these addresses may set the client address.';
const LOOPBACK_HINT =
  'These ranges contain this server. Every app on it can claim any visitor address and get past address rules and limits.';

/** True if a range contains loopback addresses, which every process on the server can use. */
function trustsThisMachine(ranges: readonly string[]): boolean {
  return ranges.some((range) => /^(127\.|0\.0\.0\.0\/0|::1(\/|$)|::\/)/.test(range));
}

function TrustedProxyFields({ draft: { proxy, change, problem } }: { readonly draft: Draft }) {
  return (
    <div className="flex min-w-0 flex-col gap-5 p-4">
      <RangesField
        label="Trusted proxies"
        hint={trustsThisMachine(proxy.trustedProxies) ? LOOPBACK_HINT : TRUST_HINT}
        error={problem('trustedProxies')}
        value={proxy.trustedProxies}
        onValue={(trustedProxies) => change({ trustedProxies })}
      />
      <Checkbox
        label="Trust Cloudflare"
        checked={proxy.cloudflare}
        onChange={(event) => change({ cloudflare: event.target.checked })}
      />
      <div className="flex flex-col gap-1">
        <Checkbox
          label="PROXY protocol"
          aria-invalid={problem('proxyProtocol') === undefined ? undefined : true}
          checked={proxy.proxyProtocol}
          onChange={(event) => change({ proxyProtocol: event.target.checked })}
        />
        <p className={problem('proxyProtocol') === undefined ? 'text-ink-faint text-sm' : 'text-bad-text text-sm'}>
          {problem('proxyProtocol') ?? 'Connections from all other addresses are closed, visitors included.'}
        </p>
      </div>
      <Checkbox
        label="Offer HTTP/3"
        checked={proxy.http3}
        onChange={(event) => change({ http3: event.target.checked })}
      />
      <NumberField
        label="Connections per client"
        hint="By address, per core. Trusted proxies have no limit."
        zero="No limit"
        error={problem('connectionsPerClient')}
        value={proxy.connectionsPerClient}
        onValue={(connectionsPerClient) => change({ connectionsPerClient })}
      />
    </div>
  );
}

function AccessLog({ draft: { proxy, change, problem } }: { readonly draft: Draft }) {
  const { accessLog } = proxy;
  const set = (part: Partial<Proxy['accessLog']>) => change({ accessLog: { ...accessLog, ...part } });
  return (
    <div className="flex min-w-0 flex-col gap-5 p-4 max-lg:border-line max-lg:border-t">
      <Checkbox
        label="Access log"
        checked={accessLog.enabled}
        onChange={(event) => set({ enabled: event.target.checked })}
      />
      {accessLog.enabled ? (
        <>
          <ChoiceField
            label="Format"
            value={accessLog.format}
            options={[
              { value: 'json', label: 'JSON' },
              { value: 'combined', label: 'Combined (Apache, nginx)' },
            ]}
            onValue={(format) => set({ format })}
          />
          <NumberField
            label="Sampling"
            hint="Failures (5xx) are always written."
            unit="percent"
            zero="Failures only"
            error={problem('accessLog.samplePermille')}
            value={accessLog.samplePermille}
            onValue={(samplePermille) => set({ samplePermille })}
          />
          <NumberField
            label="File size"
            unit="mebibytes"
            error={problem('accessLog.fileBytesMax')}
            value={accessLog.fileBytesMax}
            onValue={(fileBytesMax) => set({ fileBytesMax })}
          />
          <NumberField
            label="Rotated files"
            hint="In logs/ of the agent's folder, as access.log.1 and so on."
            min={1}
            error={problem('accessLog.filesMax')}
            value={accessLog.filesMax}
            onValue={(filesMax) => set({ filesMax })}
          />
        </>
      ) : (
        <p className="text-ink-faint text-sm">Requests are not logged.</p>
      )}
    </div>
  );
}
