'use client';
// Renders a query as its skeleton, its error with a retry button, or its data. Keeps the data visible while it
// refetches.
import { ErrorState } from '@fairlead/ui/error-state';
import type { ReactNode } from 'react';
import { isForbidden, readFailure } from '../../api/failure.ts';

interface QueryLike<Data> {
  readonly data: Data | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

export interface QueryViewProps<Data> {
  readonly query: QueryLike<Data>;
  readonly skeleton: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

export function QueryView<Data>({ query, skeleton, children }: QueryViewProps<Data>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error === null || query.error === undefined) return skeleton;
  const failure = readFailure(query.error);
  if (isForbidden(failure)) return <ErrorState title="You don't have access" message={failure.message} />;
  return (
    <ErrorState
      message={failure.message}
      errorId={failure.errorId ?? undefined}
      onRetry={() => {
        void query.refetch();
      }}
    />
  );
}
