'use client';
// Footer of a long list: loads the next page.
import { Button } from '@fairlead/ui/button';

export interface LoadMoreProps {
  readonly query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => unknown;
  };
}

export function LoadMore({ query }: LoadMoreProps) {
  if (!query.hasNextPage) return null;
  return (
    <div className="flex justify-center border-line border-t p-3">
      <Button
        size="small"
        pending={query.isFetchingNextPage}
        onClick={() => {
          void query.fetchNextPage();
        }}
      >
        Show more
      </Button>
    </div>
  );
}
