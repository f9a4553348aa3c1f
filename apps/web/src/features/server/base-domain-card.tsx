'use client';
// Base domain of a server: its wildcard record, and the names that its apps have below it.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs, ServerDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

type BaseDomain = Outputs['domain']['getBase'];

export function BaseDomainCard({ server }: { readonly server: ServerDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const [editing, setEditing] = useState(false);
  const { data } = useQuery({
    ...trpc.domain.getBase.queryOptions({ serverId: server.id }),
    // Names follow the base domain within seconds.
    refetchInterval: ({ state }) => (state.data?.baseDomain != null && state.data.names.length === 0 ? 3_000 : false),
  });
  if (data === undefined) return null;
  return (
    <Card>
      <CardHeader
        title="Base domain"
        detail={data.baseDomain === null ? 'Off' : <span className="font-mono">*.{data.baseDomain}</span>}
        action={
          can('server.write') && !editing ? (
            <Button size="small" onClick={() => setEditing(true)}>
              {data.baseDomain === null ? 'Set base domain' : 'Edit base domain'}
            </Button>
          ) : null
        }
      />
      {data.baseDomain === null ? (
        <p className="border-line border-t px-4 py-3 text-pretty text-ink-soft">
          With a base domain and one wildcard record, each app on this server gets a name without further DNS, such as{' '}
          <span className="font-mono">shop-production.apps.example.com</span>.
        </p>
      ) : (
        <Names base={data} />
      )}
      {editing ? (
        <BaseDomainForm server={server} current={data.baseDomain ?? ''} onEnd={() => setEditing(false)} />
      ) : null}
    </Card>
  );
}

function Names({ base }: { readonly base: BaseDomain }) {
  const { paths } = useMe();
  return (
    <>
      <ul className="border-line border-t px-4 py-3">
        {base.records.length === 0 ? (
          <li className="text-ink-soft text-sm">
            Fairlead doesn't know a public address of this server. Enter one under Public addresses to see the record to
            set.
          </li>
        ) : null}
        {base.records.map((record) => (
          <li key={record.value} className="flex flex-wrap items-center gap-x-4 gap-y-1 font-mono text-sm">
            <span className="w-12">{record.type}</span>
            <span className="flex items-center gap-1">
              {record.name} <CopyButton value={record.name} label={`Copy name ${record.name}`} />
            </span>
            <span className="flex min-w-0 items-center gap-1 break-all">
              {record.value} <CopyButton value={record.value} label={`Copy value ${record.value}`} />
            </span>
            <span className="font-sans text-ink-faint">
              {record.isSet === null ? 'Not checked yet' : record.isSet ? 'Found' : 'Missing'}
            </span>
          </li>
        ))}
      </ul>
      <CertificateNote certificates={base.certificates} />
      {base.names.length === 0 ? (
        <p className="border-line border-t px-4 py-3 text-ink-faint text-sm">
          Apps that have this server as their primary server get names within seconds.
        </p>
      ) : (
        <ul className="border-line border-t">
          {base.names.map((name) => (
            <li key={name.domainId}>
              <HoverLink
                href={paths.domain(name.domainId)}
                className="flex min-h-10 flex-wrap items-center justify-between gap-3 px-4 hover:bg-hover focus-visible:-outline-offset-2"
              >
                <span className="min-w-0 truncate font-mono text-sm">{name.host}</span>
                <span className="text-ink-faint text-sm">
                  {name.appName} · {name.environmentName}
                </span>
              </HoverLink>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function CertificateNote({ certificates }: Pick<BaseDomain, 'certificates'>) {
  const { paths } = useMe();
  return (
    <p className="border-line border-t px-4 py-3 text-pretty text-ink-soft text-sm">
      {certificates === 'each' ? (
        <>
          Each name has a certificate of its own, and releases have no deployment URLs. For one wildcard certificate,
          add a{' '}
          <HoverLink href={paths.dnsProviders} className="rounded-mark underline underline-offset-2">
            DNS provider
          </HoverLink>{' '}
          for this zone.
        </>
      ) : certificates === 'wildcard' ? (
        'One wildcard certificate covers all names. The last 10 releases of each app have deployment URLs.'
      ) : (
        'The local CA issues the certificates. The last 10 releases of each app have deployment URLs.'
      )}
    </p>
  );
}

interface BaseDomainFormProps {
  readonly server: ServerDetail;
  readonly current: string;
  readonly onEnd: () => void;
}

function BaseDomainForm({ server, current, onEnd }: BaseDomainFormProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useMutation(trpc.domain.updateBase.mutationOptions());
  const [text, setText] = useState(current);
  const failure = update.error === null ? null : readFailure(update.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const typed = text.trim().replace(/^\*\./, '');
    update.mutate(
      { serverId: server.id, baseDomain: typed === '' ? null : typed },
      {
        onSuccess: async () => {
          toast({ title: 'Saved', detail: 'Apps get their names within seconds.' });
          await queryClient.invalidateQueries(trpc.domain.pathFilter());
          onEnd();
        },
      },
    );
  };
  return (
    <form
      onSubmit={submit}
      noValidate
      aria-label="Base domain"
      className="flex flex-wrap items-start gap-3 border-line border-t p-4"
    >
      <Field
        label="Base domain"
        hint="Search engines are told not to index the names of environments other than the primary one. Default: none"
        error={failure === null ? undefined : (failure.fields.baseDomain ?? failure.message)}
        className="min-w-60 flex-1"
      >
        {(control) => (
          <Input
            {...control}
            mono
            value={text}
            placeholder="apps.example.com"
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <span className="mt-[26px] flex gap-3">
        <Button variant="ghost" onClick={onEnd}>
          Cancel
        </Button>
        <SubmitButton variant="accent" pending={update.isPending}>
          Save base domain
        </SubmitButton>
      </span>
    </form>
  );
}
