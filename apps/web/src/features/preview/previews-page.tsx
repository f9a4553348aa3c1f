'use client';
// Page of an app's previews: open pull requests with their state and address, and the settings of previews.
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { GitPullRequest } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { QueryView } from '../../common/page/query-view.tsx';
import { PreviewPolicyCard } from './preview-policy-card.tsx';
import { PreviewRow } from './preview-row.tsx';

export function PreviewsPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const trpc = useTRPC();
  const { app } = useAppInEnvironment(slug, initial);
  const policy = useQuery(trpc.preview.getPolicy.queryOptions({ appId: app.id }));
  const previews = useQuery(trpc.preview.list.queryOptions({ appId: app.id }));
  return (
    <div className="flex flex-col gap-6">
      <Card>
        <CardHeader title="Pull requests" detail="Each has its own environment and address" />
        <div className="border-line border-t">
          <QueryView query={previews} skeleton={<Skeleton className="m-4 h-24" />}>
            {({ items }) =>
              items.length === 0 ? (
                <EmptyState icon={<GitPullRequest size={20} />} title="No previews">
                  {policy.data?.enabled === true
                    ? 'The next pull request that is opened or pushed to gets a preview.'
                    : 'Switch previews on below. Then each pull request is deployed at its own address.'}
                </EmptyState>
              ) : (
                <ul>
                  {items.map((preview) => (
                    <PreviewRow key={preview.id} app={app} preview={preview} />
                  ))}
                </ul>
              )
            }
          </QueryView>
        </div>
      </Card>
      <QueryView query={policy} skeleton={<Skeleton className="h-60" />}>
        {(data) => <PreviewPolicyCard key={String(data.enabled)} app={app} policy={data} />}
      </QueryView>
    </div>
  );
}
