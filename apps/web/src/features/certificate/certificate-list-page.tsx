'use client';
// Lists every certificate of the organization: ordered, uploaded, and those of local names.
import { certificateFilters } from '@fairlead/core/certificate/rules';
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { AttentionFilterNote, useAttentionFilter } from '../../common/attention/attention-filter.tsx';
import { CERTIFICATE_STATE } from '../../common/certificate/states.ts';
import { FilterBar } from '../../common/list/filter-bar.tsx';
import { activeFilters, useMenuFilter } from '../../common/list/list-filter.ts';
import { ListFooter } from '../../common/list/list-footer.tsx';
import { NoMatches } from '../../common/list/no-matches.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlSearch } from '../../common/page/use-url-state.ts';
import { CertificateRows } from './certificate-rows.tsx';
import { toFilter } from './filter.ts';
import { UploadDialog } from './upload-dialog.tsx';

const STATES = certificateFilters.map((value) => ({
  value,
  label: value === 'attention' ? 'Needs attention' : CERTIFICATE_STATE[value][1],
}));

export function CertificateListPage() {
  const { paths, can } = useMe();
  const trpc = useTRPC();
  const search = { ...useUrlSearch(), label: 'Search certificates' };
  const state = useMenuFilter('state', { label: 'State', all: 'All states', options: STATES });
  const attention = useAttentionFilter();
  const active = [...attention.active, ...activeFilters(search.value, [state])];
  const [uploading, setUploading] = useState(false);
  const certificates = useInfiniteQuery({
    ...trpc.certificate.list.infiniteQueryOptions(
      { search: search.value, state: toFilter(state.value), ...attention.input },
      { getNextPageParam: (page) => page.nextCursor },
    ),
    placeholderData: keepPreviousData,
  });
  const upload = can('domain.write') ? <Button onClick={() => setUploading(true)}>Upload certificate</Button> : null;
  return (
    <OrganizationLive>
      <Page>
        <PageHeader title="Certificates" actions={upload} />
        <AttentionFilterNote />
        <FilterBar search={search} filters={[state]} others={attention.active} />
        <Card>
          <QueryView query={certificates} skeleton={<SkeletonRows rows={8} />}>
            {(data) => {
              const items = data.pages.flatMap((page) => page.items);
              if (items.length > 0) {
                return (
                  <>
                    <CertificateRows certificates={items} />
                    <ListFooter
                      query={certificates}
                      shown={items.length}
                      total={data.pages[0]?.total ?? null}
                      noun={['certificate', 'certificates']}
                    />
                  </>
                );
              }
              return active.length > 0 ? (
                <NoMatches noun="certificates" active={active} />
              ) : (
                <EmptyState
                  icon={<ShieldCheck size={20} />}
                  title="No certificates yet"
                  action={
                    <HoverLink href={paths.apps} className={buttonClass('accent')}>
                      Choose app
                    </HoverLink>
                  }
                >
                  Fairlead orders a certificate for each domain, and renews it. Attach a domain on an app's Domains page
                  to get the first one, or upload your own for a domain that you have.
                </EmptyState>
              );
            }}
          </QueryView>
        </Card>
      </Page>
      {uploading ? <UploadDialog replaces={null} onClose={() => setUploading(false)} /> : null}
    </OrganizationLive>
  );
}
