// Steps from a new domain of the dashboard to its first answer: DNS records, certificate, answer. Pure.
import type { HostState } from '@fairlead/core/host/schema';
import type { StepState } from '@fairlead/ui/steps';
import type { DashboardDomain } from '../../api/types.ts';
import { ORDER_STEP } from '../certificate/states.ts';
import { explainHost } from '../host/host-state.ts';

export interface DomainStep {
  readonly state: StepState;
  readonly text: string;
}

/** States in which a record leads elsewhere, something keeps visitors out, or the check itself failed. */
const WRONG: readonly HostState[] = [
  'check_failed',
  'resolves_elsewhere',
  'proxied',
  'caa_blocks',
  'port_closed',
  'port_taken',
];

export function dnsStep({ dns }: DashboardDomain): DomainStep {
  const isDone = dns.state === 'ready' || dns.state === 'partial';
  return { state: isDone ? 'done' : WRONG.includes(dns.state) ? 'failed' : 'running', text: explainHost(dns) };
}

export function certificateStep(domain: DashboardDomain): DomainStep {
  const { kind, certificate } = domain.certificate;
  if (kind === 'off') {
    return {
      state: 'failed',
      text: "Automatic certificates are off, because acme.directory_url is empty. Set it: the dashboard can't use uploaded certificates.",
    };
  }
  if (certificate?.state === 'issued') return { state: 'done', text: `Issued by ${certificate.issuer}.` };
  if (dnsStep(domain).state !== 'done')
    return { state: 'pending', text: 'Fairlead orders it once the records point to this server.' };
  if (certificate?.state === 'ordering') return { state: 'running', text: ORDER_STEP[certificate.step ?? 'account'] };
  const failure = certificate?.failure ?? null;
  return failure === null
    ? { state: 'running', text: 'It is ordered within seconds.' }
    : { state: 'failed', text: failure.message };
}

export function answerStep(domain: DashboardDomain): DomainStep {
  if (domain.answeredAt !== null) return { state: 'done', text: 'Links in emails now use this domain.' };
  const isNext = dnsStep(domain).state === 'done' && certificateStep(domain).state === 'done';
  return isNext
    ? { state: 'running', text: 'Checking that the dashboard responds at the new address.' }
    : { state: 'pending', text: 'Links change once the dashboard answers there. Until then nothing changes.' };
}
