'use client';
// Certificate of a domain's host: its state, the last failure, and the next step.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StatePill } from '@fairlead/ui/state-pill';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { DomainDetail } from '../../api/types.ts';
import { CERTIFICATE_STATE, ORDER_STEP } from '../../common/certificate/states.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

export function CertificateCard({ domain }: { readonly domain: DomainDetail }) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const query = useQuery(trpc.certificate.get.queryOptions({ domainId: domain.id }));
  const retry = useAction(
    useMutation(trpc.certificate.retry.mutationOptions()),
    "The certificate wasn't ordered",
    () => {
      void queryClient.invalidateQueries(trpc.certificate.pathFilter());
    },
  );
  if (query.data === undefined || query.data.kind === 'local') return null;
  const { certificate } = query.data;
  const [tone, label] =
    query.data.kind === 'off' ? (['idle', 'Off'] as const) : CERTIFICATE_STATE[certificate?.state ?? 'waiting'];
  const isOrdering = certificate?.state === 'ordering';
  const failure = certificate?.failure ?? null;
  return (
    <Card className="mb-6">
      <CardHeader
        title="Certificate"
        detail={<StatePill tone={tone}>{label}</StatePill>}
        action={
          certificate === null ? null : (
            <HoverLink
              href={paths.certificate(certificate.id)}
              className="text-sm text-ink-soft underline decoration-line-strong underline-offset-2 hover:text-ink"
            >
              Details
            </HoverLink>
          )
        }
      />
      <div className="flex flex-col gap-3 border-line border-t px-4 py-4 text-sm">
        {query.data.kind === 'off' ? (
          <p className="text-ink-soft">
            This control plane orders no certificates: its operator left the setting{' '}
            <span className="font-mono">acme.directory_url</span> empty.
          </p>
        ) : certificate === null || certificate.state === 'waiting' ? (
          <p className="text-ink-soft">
            Fairlead orders it within seconds, once a server of the app is connected. Point the DNS record of{' '}
            <span className="font-mono">{domain.host}</span> at {domain.serverName ?? "the app's server"}, with port 80
            open.
          </p>
        ) : null}
        {isOrdering ? <p className="text-ink-soft">{ORDER_STEP[certificate.step ?? 'account']}</p> : null}
        {certificate?.notAfter == null ? null : (
          <p className="text-ink-soft">
            {query.data.kind === 'upload' ? 'Uploaded, issued' : 'Issued'} by {certificate.issuer}. Expires{' '}
            <RelativeTime at={certificate.notAfter} />
            {certificate.renewAt === null ? null : (
              <>
                , renewed <RelativeTime at={certificate.renewAt} />
              </>
            )}
            .
          </p>
        )}
        {failure === null || isOrdering ? null : (
          <>
            <ErrorNote>{failure.message}</ErrorNote>
            <div className="flex flex-wrap items-center gap-3">
              <p className="text-ink-soft">
                The last order failed <RelativeTime at={failure.failedAt} />.
                {certificate?.nextAttemptAt == null ? null : (
                  <>
                    {' '}
                    Next order: <RelativeTime at={certificate.nextAttemptAt} />.
                  </>
                )}
              </p>
              {can('domain.write') ? (
                <Button
                  size="small"
                  className="ml-auto"
                  pending={retry.pending}
                  onClick={() => retry.run({ domainId: domain.id })}
                >
                  Order certificate
                </Button>
              ) : null}
            </div>
          </>
        )}
      </div>
    </Card>
  );
}
