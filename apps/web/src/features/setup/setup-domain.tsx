'use client';
// Step of the first run that gives the dashboard a domain: its name, its records and certificate, and its address.
import { Button, buttonClass } from '@fairlead/ui/button';
import { useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { DashboardDomain, DashboardDomains } from '../../api/types.ts';
import { DomainForm } from '../../common/dashboard-domain/domain-form.tsx';
import { DomainProgress } from '../../common/dashboard-domain/domain-progress.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { pathsOf } from '../../common/organization/paths.ts';

interface SetupDomainProps {
  readonly organization: string;
  readonly domains: DashboardDomains;
  readonly onLater: () => void;
}

export function SetupDomain({ organization, domains, onLater }: SetupDomainProps) {
  const [domain] = domains.items;
  if (domain === undefined) {
    return (
      <DomainForm suggestedHost={domains.suggestedHost} size="large">
        <Button variant="ghost" size="large" onClick={onLater}>
          Do it later
        </Button>
        <p className="basis-full text-pretty text-ink-faint text-sm">
          You find this later under Settings, Control plane, Domains.
        </p>
      </DomainForm>
    );
  }
  const paths = pathsOf(organization);
  if (domain.answeredAt !== null) {
    return (
      <a href={`${domain.url}${paths.overview}`} className={buttonClass('accent', 'large')}>
        Open {domain.host}
      </a>
    );
  }
  return (
    <div className="flex flex-col gap-6">
      <DomainProgress domain={domain} serversHref={paths.servers} compact />
      <div className="flex flex-wrap items-center gap-3">
        <Button size="large" onClick={onLater}>
          Continue without waiting
        </Button>
        <OtherDomain domain={domain} />
      </div>
    </div>
  );
}

function OtherDomain({ domain }: { readonly domain: DashboardDomain }) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const remove = useAction(
    useFreshMutation(trpc.dashboardDomain.delete.mutationOptions()),
    "The domain wasn't changed",
    () => void queryClient.invalidateQueries(trpc.dashboardDomain.pathFilter()),
  );
  return (
    <Button
      variant="ghost"
      size="large"
      pending={remove.pending}
      onClick={() => remove.run({ dashboardDomainId: domain.id })}
    >
      Change domain
    </Button>
  );
}

/** Returns title and lead of the step. */
export function domainWords({ items, settingsUrl, suggestedHost }: DashboardDomains): {
  readonly title: string;
  readonly lead: string;
} {
  const [domain] = items;
  if (domain === undefined) {
    const lead = `The dashboard runs at ${settingsUrl}, but browsers don't trust its certificate.`;
    return suggestedHost === null
      ? { title: 'Add a domain for the dashboard', lead: `${lead} Add your own domain to get a trusted one.` }
      : { title: 'Get a certificate for the dashboard', lead: `${lead} Fairlead orders one that they trust.` };
  }
  if (domain.answeredAt === null) {
    return {
      title: 'Set the DNS records',
      lead: `Set them at the DNS provider of ${domain.dns.zone}. Fairlead notices them within seconds and gets the certificate.`,
    };
  }
  return {
    title: 'Domain is active',
    lead: `Links now use ${domain.url}. Sign in there again: your session doesn't carry over to a new address.`,
  };
}
