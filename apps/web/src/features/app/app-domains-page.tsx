'use client';
import { domainLabel, isWildcard, pairedHost } from '@fairlead/core/domain/rules';
// Routes (host names and path prefixes) of one app. Detaching happens at once with an undo, except for a route with a
// policy.
import { IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { CrossIcon } from '@fairlead/ui/cross-icon';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Checkbox, Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Globe } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

export function AppDomainsPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  // A policy cannot be restored, because its passwords cannot be read: ask first.
  const [detaching, setDetaching] = useState<AppDetail['domains'][number] | null>(null);
  const queryClient = useQueryClient();
  const toast = useToast();
  const { app } = useAppInEnvironment(slug, initial);
  const refetch = () => queryClient.invalidateQueries(trpc.app.get.queryFilter());
  const attach = useMutation(trpc.domain.attach.mutationOptions({ onSuccess: refetch }));
  const detach = useAction(
    useMutation(trpc.domain.detach.mutationOptions()),
    "The domain wasn't detached",
    ({ domainId }) => {
      const detached = app.domains.find((domain) => domain.id === domainId);
      const undo = () => {
        if (detached === undefined) return;
        const { host, pathPrefix } = detached;
        attach.mutate({ appId: app.id, environmentId: app.environmentId, host, pathPrefix });
      };
      toast({
        title: `${detached === undefined ? 'The domain' : domainLabel(detached)} detached from ${app.name}`,
        ...(detaching === null ? { action: { label: 'Undo', onSelect: undo } } : {}),
      });
      setDetaching(null);
      void refetch();
    },
  );

  return (
    <Card>
      <CardHeader title="Domains" detail={`Hosts of the app in ${app.environmentName}`} />
      {app.domains.length === 0 ? (
        <EmptyState icon={<Globe size={20} />} title="No domains yet">
          The app runs, but visitors can't reach it. Attach a domain below and point its DNS record at {app.serverName}.
        </EmptyState>
      ) : (
        <ul>
          {app.domains.map((domain) => (
            <li key={domain.id} className="flex min-h-12 items-center gap-2 border-line border-t px-4">
              {isWildcard(domain) ? (
                <span className="min-w-0 truncate font-mono text-sm">{domainLabel(domain)}</span>
              ) : (
                <>
                  <a
                    href={domain.url}
                    target="_blank"
                    rel="noreferrer"
                    className="min-w-0 truncate font-mono text-sm hover:underline"
                  >
                    {domainLabel(domain)}
                  </a>
                  <CopyButton value={domain.url} label={`Copy ${domain.url}`} />
                </>
              )}
              <HoverLink
                href={paths.domain(domain.id)}
                aria-label={`${policyLabel(domain)}: ${domainLabel(domain)}`}
                className="ml-auto whitespace-nowrap rounded-mark text-ink-soft text-sm hover:text-ink hover:underline"
              >
                {policyLabel(domain)}
              </HoverLink>
              {can('domain.write') ? (
                <IconButton
                  label={`Detach ${domainLabel(domain)}`}
                  size="small"
                  onClick={() => (domain.hasPolicy ? setDetaching(domain) : detach.run({ domainId: domain.id }))}
                >
                  <CrossIcon />
                </IconButton>
              ) : null}
            </li>
          ))}
        </ul>
      )}
      {can('domain.write') ? <AttachForm app={app} attach={attach} /> : null}
      <ConfirmDialog
        open={detaching !== null}
        title={`Detach ${detaching === null ? '' : domainLabel(detaching)}`}
        action="Detach"
        pending={detach.pending}
        onConfirm={() => (detaching === null ? undefined : detach.run({ domainId: detaching.id }))}
        onClose={() => setDetaching(null)}
      >
        <p>
          Its policy is deleted too: passwords, address rules, limits, headers and pages. If you attach it again, it is
          open to everyone.
        </p>
      </ConfirmDialog>
    </Card>
  );
}

interface AttachFormProps {
  readonly app: AppDetail;
  readonly attach: {
    readonly error: unknown;
    readonly isPending: boolean;
    readonly mutate: (
      input: { appId: string; environmentId: string; host: string; pathPrefix: string; redirectTo?: string },
      options: { onSuccess: () => void },
    ) => void;
  };
}

function AttachForm({ app, attach }: AttachFormProps) {
  const [route, setRoute] = useState('');
  const [withPair, setWithPair] = useState(true);
  const { host, pathPrefix } = routeOf(route.toLowerCase());
  const pair = pathPrefix === '/' ? pairedHost(host) : null;
  const failure = attach.error === null ? null : readFailure(attach.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { id: appId, environmentId } = app;
    const attachPair = () => {
      setRoute('');
      if (pair === null || !withPair) return;
      attach.mutate({ appId, environmentId, host: pair, pathPrefix: '/', redirectTo: host }, { onSuccess: () => {} });
    };
    attach.mutate({ appId, environmentId, ...routeOf(route) }, { onSuccess: attachPair });
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-wrap items-start gap-3 border-line border-t p-4">
      <Field
        label="Attach domain"
        hint="For example shop.localhost, shop.localhost/api for paths below /api, or *.example.com for all names one label below. The page of a public name shows the DNS records to set."
        error={failure === null ? undefined : (failure.fields.host ?? failure.fields.pathPrefix ?? failure.message)}
        className="flex-1"
      >
        {(control) => (
          <Input
            {...control}
            mono
            value={route}
            placeholder="shop.localhost"
            onChange={(event) => setRoute(event.target.value)}
          />
        )}
      </Field>
      <SubmitButton className="mt-[26px] h-9" pending={attach.isPending} disabled={route.trim() === ''}>
        Attach
      </SubmitButton>
      {pair === null ? null : (
        <Checkbox
          className="basis-full"
          label={`Also redirect ${pair} to ${host}`}
          checked={withPair}
          onChange={(event) => setWithPair(event.target.checked)}
        />
      )}
    </form>
  );
}

/** Splits typed text: everything from the first slash on is the path. */
function routeOf(typed: string): { host: string; pathPrefix: string } {
  const [host = '', ...path] = typed.trim().split('/');
  return { host, pathPrefix: `/${path.join('/')}` };
}

function policyLabel({ hasPolicy }: { readonly hasPolicy: boolean }): string {
  return hasPolicy ? 'Has a policy' : 'Policy';
}
