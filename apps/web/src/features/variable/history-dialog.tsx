'use client';
// Versions of a secret by number, author and time, without values; restores one.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Skeleton } from '@fairlead/ui/skeleton';
import { Badge } from '@fairlead/ui/state-pill';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { SecretView } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useRefetchVariables } from './use-variable-calls.ts';

export function HistoryDialog({ secret, onClose }: { readonly secret: SecretView; readonly onClose: () => void }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const refetch = useRefetchVariables();
  const history = useQuery(trpc.secret.versions.queryOptions({ secretId: secret.id }));
  const restore = useAction(useMutation(trpc.secret.restore.mutationOptions()), "The version wasn't restored", refetch);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`History of ${secret.name}`}
      detail="Restoring creates a new version with the old value."
    >
      <QueryView query={history} skeleton={<Skeleton className="h-40" />}>
        {({ versions }) => (
          <ol className="flex flex-col">
            {versions.map((version) => (
              <li
                key={version.number}
                className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b py-2 last:border-b-0"
              >
                <span className="w-9 font-mono text-sm tabular-nums">v{version.number}</span>
                <span className="min-w-0 flex-1 truncate text-sm">
                  {version.authorName ?? 'A service account'} · <RelativeTime at={version.createdAt} />
                </span>
                {version.isLive ? <Badge>live</Badge> : null}
                {version.isCurrent ? (
                  <Badge>newest</Badge>
                ) : can('secret.write') ? (
                  <Button
                    size="small"
                    pending={restore.pending}
                    aria-label={`Restore version ${version.number}`}
                    onClick={() => restore.run({ secretId: secret.id, number: version.number })}
                  >
                    Restore
                  </Button>
                ) : null}
              </li>
            ))}
          </ol>
        )}
      </QueryView>
    </Dialog>
  );
}
