'use client';
// API tokens of the reader and of service accounts.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useMutation, useQuery } from '@tanstack/react-query';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { MemberTokenCard } from './member-token-card.tsx';
import { ServiceAccountCards } from './service-account-cards.tsx';
import { TokenRows } from './token-rows.tsx';
import { useCreateToken } from './use-create-token.ts';

export function TokenPage() {
  const { can, paths } = useMe();
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />}
        title="API tokens"
        actions={
          <HoverLink href="/docs/api" className="text-ink-soft underline hover:text-ink">
            API reference
          </HoverLink>
        }
      />
      <div className="flex flex-col gap-6">
        <OwnTokens />
        {can('token.read') ? <ServiceAccountCards /> : null}
        {can('member.write') ? <MemberTokenCard /> : null}
      </div>
    </Page>
  );
}

function OwnTokens() {
  const { can } = useMe();
  const trpc = useTRPC();
  const [creating, setCreating] = useState(false);
  const tokens = useQuery(trpc.token.list.queryOptions());
  const create = useCreateToken();
  const revoke = useAction(
    useMutation(trpc.token.revoke.mutationOptions()),
    "The token wasn't revoked",
    () => void tokens.refetch(),
  );
  const close = () => {
    setCreating(false);
    create.reset();
    void tokens.refetch();
  };
  const button = can('token.write') ? (
    <Button variant="accent" icon={<Plus size={16} aria-hidden="true" />} onClick={() => setCreating(true)}>
      Create token
    </Button>
  ) : null;
  return (
    <Card>
      <CardHeader title="Your tokens" detail="A token never has more permissions than you." action={button} />
      <div className="border-line border-t">
        <QueryView query={tokens} skeleton={<SkeletonRows rows={3} />}>
          {({ items }) =>
            items.length === 0 ? (
              <EmptyState icon={<KeyRound size={20} />} title="No tokens yet">
                A token lets a script use the API as you, with the permissions and lifetime that you choose.
              </EmptyState>
            ) : (
              <TokenRows
                tokens={items}
                pending={revoke.pending}
                onRevoke={can('token.write') ? (tokenId) => revoke.run({ tokenId }) : undefined}
              />
            )
          }
        </QueryView>
      </div>
      {creating ? (
        <CreateDialog
          title="Create token"
          pending={create.isPending}
          error={create.error}
          token={create.data?.token ?? null}
          onCreate={(token) => create.mutate(token)}
          onClose={close}
        />
      ) : null}
    </Card>
  );
}
