'use client';
// Domain page: the target, and the proxy's request policy. Saved changes take effect at once.
import { domainLabel, isWildcard } from '@fairlead/core/domain/rules';
import { PageHeader } from '@fairlead/ui/page-header';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { DomainDetail } from '../../api/types.ts';
import { changedFields } from '../../common/form/changed-fields.ts';
import { fieldError } from '../../common/form/field-error.ts';
import { SaveBar } from '../../common/form/save-bar.tsx';
import { MeScope, useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { AccessSection } from './access-section.tsx';
import { CertificateCard } from './certificate-card.tsx';
import type { Draft, PolicyDraft } from './draft.ts';
import { HeadersSection } from './headers-section.tsx';
import { HostCard } from './host-card.tsx';
import { LimitsSection } from './limits-section.tsx';
import { ErrorPagesSection, MaintenanceSection } from './pages-section.tsx';
import { TargetSection } from './target-section.tsx';
import { TlsSections } from './tls-sections.tsx';

export function DomainPage({ initial }: { readonly initial: DomainDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const domain = useQuery(trpc.domain.get.queryOptions({ domainId: initial.id })).data ?? initial;
  const [edition, setEdition] = useState(0);
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          breadcrumb={
            <Crumbs
              items={[
                { title: 'Domains', href: paths.domains },
                { title: domain.appName, href: paths.appDomains(domain.appSlug) },
              ]}
            />
          }
          title={<span className="font-mono">{domainLabel(domain)}</span>}
          detail={
            <>
              {domain.environmentName} of{' '}
              <HoverLink href={paths.app(domain.appSlug)} className="hover:underline">
                {domain.appName}
              </HoverLink>
              {domain.serverName === null ? null : ` on ${domain.serverName}`}
            </>
          }
          actions={
            isWildcard(domain) ? null : (
              <a
                href={domain.url}
                target="_blank"
                rel="noreferrer"
                aria-label={`Open ${domainLabel(domain)} in a new tab`}
                className="flex size-8 items-center justify-center rounded-control text-ink-faint hover:bg-hover hover:text-ink"
              >
                <ExternalLink size={15} aria-hidden="true" />
              </a>
            )
          }
        />
        {/* A saved or discarded draft resets the form, and typed passwords with it. */}
        <MeScope scope={domain} isProtected={domain.isEnvironmentProtected}>
          <HostCard domain={domain} />
          <CertificateCard domain={domain} />
          <TlsSections domain={domain} />
          <PolicyForm key={edition} domain={domain} onEnd={() => setEdition((count) => count + 1)} />
        </MeScope>
      </Page>
    </OrganizationLive>
  );
}

interface PolicyFormProps {
  readonly domain: DomainDetail;
  readonly onEnd: () => void;
}

function PolicyForm({ domain, onEnd }: PolicyFormProps) {
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useMutation(trpc.domain.updatePolicy.mutationOptions());
  const [policy, setPolicy] = useState<PolicyDraft>(domain.policy);
  const [saved] = useState<PolicyDraft>(domain.policy);
  const failure = update.error === null ? null : readFailure(update.error);
  const draft: Draft = {
    policy,
    set: (name, value) => setPolicy((all) => ({ ...all, [name]: value })),
    problem: (path) => (failure === null ? undefined : fieldError(failure.fields, 'policy', path)),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      { domainId: domain.id, policy: mutable(policy) },
      {
        onSuccess: async () => {
          toast({ title: 'Saved', detail: `${domainLabel(domain)} applies it as soon as its servers receive it.` });
          await queryClient.invalidateQueries(trpc.domain.pathFilter());
          void queryClient.invalidateQueries(trpc.app.pathFilter());
          onEnd();
        },
      },
    );
  };
  const readOnly = !can('domain.write');
  return (
    <form onSubmit={submit} noValidate aria-label="Policy" className="flex flex-col gap-6">
      <fieldset disabled={readOnly} className="flex min-w-0 flex-col gap-6">
        <TargetSection draft={draft} appName={domain.appName} host={domain.host} pathPrefix={domain.pathPrefix} />
        <AccessSection draft={draft} known={(saved.basicAuth?.users ?? []).map(({ name }) => name)} />
        <LimitsSection draft={draft} />
        <HeadersSection draft={draft} of="requestHeaders" />
        <HeadersSection draft={draft} of="responseHeaders" />
        <MaintenanceSection draft={draft} />
        <ErrorPagesSection draft={draft} />
      </fieldset>
      {readOnly ? (
        <p className="text-ink-faint text-sm">
          {domain.isEnvironmentProtected && !can('deployment.approve')
            ? `${domain.environmentName} is protected. Only members who may approve deployments can change this.`
            : 'Read-only. You need the permission “Attach and detach domains” to change this.'}
        </p>
      ) : (
        <SaveBar
          changed={changedFields(saved, policy).length}
          pending={update.isPending}
          failure={failure}
          onDiscard={onEnd}
        />
      )}
    </form>
  );
}

function mutable({ basicAuth, ...policy }: PolicyDraft) {
  return { ...policy, basicAuth: basicAuth === null ? null : { ...basicAuth, users: [...basicAuth.users] } };
}
