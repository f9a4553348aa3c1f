// Skeleton while the next page loads: a header and a list at their final heights.
import { Card } from '@fairlead/ui/card';
import { Skeleton, SkeletonRows } from '@fairlead/ui/skeleton';
import { Page } from '../../common/page/page.tsx';

export default function Loading() {
  return (
    <Page>
      <Skeleton className="mb-6 h-7 w-48" />
      <Card>
        <SkeletonRows rows={6} />
      </Card>
    </Page>
  );
}
