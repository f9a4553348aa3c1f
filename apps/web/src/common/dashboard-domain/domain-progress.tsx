'use client';
// Progress of a new domain of the dashboard: the records to set, its certificate and its first answer.
import { Button } from '@fairlead/ui/button';
import { Steps } from '@fairlead/ui/steps';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { DashboardDomain } from '../../api/types.ts';
import { useAction } from '../form/use-action.ts';
import { HostRecords } from '../host/host-records.tsx';
import { answerStep, certificateStep, dnsStep } from './domain-steps.ts';

interface DomainProgressProps {
  readonly domain: DashboardDomain;
  /** Page of servers, for one whose address is unknown. */
  readonly serversHref: string;
  readonly compact?: boolean;
}

export function DomainProgress({ domain, serversHref, compact = false }: DomainProgressProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const reload = () => void queryClient.invalidateQueries(trpc.dashboardDomain.pathFilter());
  const verify = useAction(
    useMutation(trpc.dashboardDomain.verify.mutationOptions()),
    "The records weren't checked",
    reload,
  );
  const retry = useAction(
    useMutation(trpc.dashboardDomain.retry.mutationOptions()),
    "The certificate wasn't ordered",
    reload,
  );
  const dns = dnsStep(domain);
  const certificate = certificateStep(domain);
  const answer = answerStep(domain);
  const { records, serversWithoutAddress } = domain.dns;
  const input = { dashboardDomainId: domain.id };
  return (
    <Steps
      label={`Setting up ${domain.host}`}
      steps={[
        {
          id: 'dns',
          title: 'DNS records',
          state: dns.state,
          detail: (
            <div className="flex flex-col gap-3">
              {records.length === 0 && dns.state === 'running' ? null : <Said>{dns.text}</Said>}
              {records.length === 0 ? (
                <Said>
                  Fairlead doesn't know a public address of {serversWithoutAddress.join(', ') || 'this server'}, so it
                  can't show the DNS records yet. Enter the address under{' '}
                  <a href={serversHref} className="text-ink underline decoration-line-strong underline-offset-2">
                    Servers
                  </a>
                  , Public addresses.
                </Said>
              ) : (
                <div className="overflow-hidden rounded-control border border-line [&>div]:border-t-0">
                  <HostRecords label={`Records of ${domain.host}`} records={records} compact={compact} />
                </div>
              )}
              {dns.state === 'done' ? null : (
                <Button size="small" className="self-start" pending={verify.pending} onClick={() => verify.run(input)}>
                  Check now
                </Button>
              )}
            </div>
          ),
        },
        {
          id: 'certificate',
          title: 'Certificate',
          state: certificate.state,
          detail: (
            <div className="flex flex-col gap-3">
              <Said>{certificate.text}</Said>
              {certificate.state === 'failed' && domain.certificate.certificate !== null ? (
                <Button size="small" className="self-start" pending={retry.pending} onClick={() => retry.run(input)}>
                  Order certificate
                </Button>
              ) : null}
            </div>
          ),
        },
        { id: 'answer', title: domain.url, state: answer.state, detail: <Said>{answer.text}</Said> },
      ]}
    />
  );
}

function Said({ children }: { readonly children: ReactNode }) {
  return <p className="text-pretty break-words">{children}</p>;
}
