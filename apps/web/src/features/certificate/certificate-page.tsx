'use client';
// Page of one certificate: names, times, servers, the last failure and the history; actions to order, replace and delete.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { useNow } from '@fairlead/ui/lib/clock';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StatePill, StateText, type Tone } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { CertificateDetail } from '../../api/types.ts';
import { CERTIFICATE_SOURCE, certificateState, formatDaysLeft } from '../../common/certificate/states.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { UploadDialog } from './upload-dialog.tsx';

export function CertificatePage({ initial }: { readonly initial: CertificateDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const now = useNow();
  const query = useQuery(trpc.certificate.getDetail.queryOptions({ certificateId: initial.id }));
  const certificate = query.data ?? initial;
  const [tone, label] = certificateState(certificate, now);
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          breadcrumb={<Crumbs items={[{ title: 'Certificates', href: paths.certificates }]} />}
          title={<span className="font-mono">{certificate.host}</span>}
          pill={<StatePill tone={tone}>{label}</StatePill>}
          detail={CERTIFICATE_SOURCE[certificate.source]}
          actions={certificate.source === 'upload' ? <UploadActions certificate={certificate} /> : null}
        />
        <div className="flex flex-col gap-6">
          <FailureCard certificate={certificate} />
          <FactsCard certificate={certificate} />
          <HistoryCard events={certificate.events} />
        </div>
      </Page>
    </OrganizationLive>
  );
}

function FailureCard({ certificate }: { readonly certificate: CertificateDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const retry = useAction(
    useMutation(trpc.certificate.retry.mutationOptions()),
    "The certificate wasn't ordered",
    () => void queryClient.invalidateQueries(trpc.certificate.pathFilter()),
  );
  const { failure, nextAttemptAt, domains, state } = certificate;
  const domainId = domains[0]?.id;
  if (failure === null || state === 'ordering' || state === 'unused') return null;
  return (
    <Card>
      <CardHeader title="Last error" detail={<RelativeTime at={failure.failedAt} />} />
      <div className="flex flex-col gap-3 border-line border-t px-4 py-4">
        <ErrorNote>{failure.message}</ErrorNote>
        <div className="flex flex-wrap items-center gap-3 text-sm">
          <p className="text-ink-soft">
            {nextAttemptAt === null ? (
              'Fairlead orders it again as soon as a server of the domain is connected.'
            ) : (
              <>
                Next order: <RelativeTime at={nextAttemptAt} />.
              </>
            )}
          </p>
          {can('domain.write') && domainId !== undefined ? (
            <Button size="small" className="ml-auto" pending={retry.pending} onClick={() => retry.run({ domainId })}>
              Order certificate
            </Button>
          ) : null}
        </div>
      </div>
    </Card>
  );
}

function FactsCard({ certificate }: { readonly certificate: CertificateDetail }) {
  const { formatExact } = useFormats();
  const { paths, can } = useMe();
  const now = useNow();
  const { names, domains, servers, issuer, notBefore, notAfter, renewAt, leaf } = certificate;
  const domainOf = (name: string) => domains.find(({ host }) => host === name);
  const covered = domains.filter(({ host }) => !names.includes(host));
  return (
    <Card>
      <CardHeader title="Certificate" />
      <Facts
        className="border-line border-t px-4 py-4 sm:grid-cols-2"
        items={[
          {
            term: names.length === 1 ? 'Name' : 'Names',
            value: (
              <ul>
                {[...names.map((host) => ({ host, id: domainOf(host)?.id })), ...covered].map(({ host, id }) => (
                  <li key={host} className="break-all font-mono text-sm">
                    {id === undefined ? host : <Link href={paths.domain(id)} text={host} />}
                  </li>
                ))}
              </ul>
            ),
          },
          {
            term: 'Servers',
            value:
              servers.length === 0
                ? 'None'
                : servers.map(({ id, name }, at) => (
                    <span key={id}>
                      {at > 0 ? ', ' : null}
                      {can('server.read') ? <Link href={paths.server(id)} text={name} /> : name}
                    </span>
                  )),
          },
          { term: 'Issuer', value: issuer ?? 'Not issued yet' },
          {
            term: 'Expires in',
            value:
              notAfter === null ? (
                '–'
              ) : (
                <time dateTime={notAfter.toISOString()} title={formatExact(notAfter)}>
                  {formatDaysLeft(notAfter, now)}
                </time>
              ),
          },
          { term: 'Valid from', value: notBefore === null ? '–' : <RelativeTime at={notBefore} /> },
          {
            term: 'Renewal',
            value:
              certificate.source === 'upload' ? (
                'Upload a new one'
              ) : renewAt === null ? (
                '–'
              ) : (
                <RelativeTime at={renewAt} />
              ),
          },
          ...(leaf === null
            ? []
            : [
                { term: 'Key', value: leaf.key },
                { term: 'Serial number', value: <Mono text={leaf.serialNumber} /> },
                { term: 'SHA-256 fingerprint', value: <Mono text={leaf.fingerprint} /> },
              ]),
        ]}
      />
    </Card>
  );
}

function Link({ href, text }: { readonly href: string; readonly text: string }) {
  return (
    <HoverLink href={href} className="underline decoration-line-strong underline-offset-2 hover:decoration-ink">
      {text}
    </HoverLink>
  );
}

function Mono({ text }: { readonly text: string }) {
  return <span className="break-all font-mono text-sm">{text}</span>;
}

const EVENT: Readonly<Record<CertificateDetail['events'][number]['kind'], readonly [Tone, string]>> = {
  ordered: ['idle', 'Ordered'],
  issued: ['ok', 'Issued'],
  renewed: ['ok', 'Renewed'],
  failed: ['bad', 'Failed'],
  uploaded: ['ok', 'Uploaded'],
  replaced: ['ok', 'Replaced'],
};

function HistoryCard({ events }: { readonly events: CertificateDetail['events'] }) {
  return (
    <Card>
      <CardHeader title="History" />
      {events.length === 0 ? (
        <p className="border-line border-t px-4 py-4 text-sm text-ink-faint">
          The last 50 orders and their results appear here.
        </p>
      ) : (
        <ul>
          {events.map(({ id, kind, detail, createdAt }) => (
            <li key={id} className="flex flex-wrap gap-x-3 gap-y-1 border-line border-t px-4 py-2.5">
              <StateText tone={EVENT[kind][0]}>{EVENT[kind][1]}</StateText>
              <RelativeTime at={createdAt} className="ml-auto text-sm text-ink-faint" />
              {detail === null ? null : <p className="w-full text-pretty text-sm text-ink-soft">{detail}</p>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function UploadActions({ certificate }: { readonly certificate: CertificateDetail }) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const router = useRouter();
  const queryClient = useQueryClient();
  const remove = useFreshMutation(trpc.certificate.delete.mutationOptions());
  const [open, setOpen] = useState<'replace' | 'delete' | null>(null);
  if (!can('domain.write')) return null;
  const close = () => setOpen(null);
  const confirm = () =>
    remove.mutate(
      { certificateId: certificate.id },
      {
        onSuccess: () => {
          toast({ title: 'Certificate deleted' });
          router.push(paths.certificates);
          void queryClient.invalidateQueries(trpc.certificate.list.pathFilter());
        },
      },
    );
  return (
    <>
      <Button onClick={() => setOpen('replace')}>Replace certificate</Button>
      <Button onClick={() => setOpen('delete')}>Delete</Button>
      {open === 'replace' ? <UploadDialog replaces={certificate.id} onClose={close} /> : null}
      <ConfirmDelete
        open={open === 'delete'}
        onClose={close}
        what="certificate"
        name={certificate.host}
        consequences={
          <p>
            Its private key is deleted with it. Fairlead orders certificates for the domains that it covered. Until they
            are issued, visitors to these domains get no HTTPS.
          </p>
        }
        pending={remove.isPending}
        error={remove.error === null || wasCancelled(remove.error) ? null : remove.error}
        onConfirm={confirm}
      />
    </>
  );
}
