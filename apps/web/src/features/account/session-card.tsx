'use client';
// Active sessions of the account; ends one or all others.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Badge } from '@fairlead/ui/state-pill';
import { useQuery } from '@tanstack/react-query';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useAccountCall } from './use-account-call.ts';

export function SessionCard() {
  const client = useTRPCClient();
  const sessions = useQuery(useTRPC().account.listSessions.queryOptions());
  const call = useAccountCall();
  const hasOthers = (sessions.data?.items.length ?? 0) > 1;
  return (
    <Card id="sessions" className="scroll-mt-4">
      <CardHeader
        title="Sessions"
        action={
          hasOthers ? (
            <Button
              size="small"
              variant="danger-outline"
              pending={call.pending}
              onClick={() => void call.run(() => client.account.revokeOtherSessions.mutate(), 'Other sessions ended')}
            >
              Sign out all other sessions
            </Button>
          ) : null
        }
      />
      {call.failure === null ? null : <ErrorNote className="mx-4 mb-4">{call.failure.message}</ErrorNote>}
      <QueryView query={sessions} skeleton={<SkeletonRows rows={2} />}>
        {({ items }) => (
          <ul>
            {items.map((session) => (
              <li
                key={session.id}
                className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3"
              >
                <div className="min-w-0 flex-1 basis-56">
                  <p className="flex items-center gap-2 font-medium">
                    {session.device}
                    {session.isThis ? <Badge>This session</Badge> : null}
                  </p>
                  <p className="text-sm text-ink-faint">
                    {session.ip === null ? null : <span className="font-mono">{session.ip}, </span>}
                    last used <RelativeTime at={session.lastUsedAt} />, signed in{' '}
                    <RelativeTime at={session.createdAt} />
                  </p>
                </div>
                {session.isThis ? null : (
                  <Button
                    size="small"
                    aria-label={`Sign out ${session.device}`}
                    disabled={call.pending}
                    onClick={() =>
                      void call.run(
                        () => client.account.revokeSession.mutate({ sessionId: session.id }),
                        'Session ended',
                      )
                    }
                  >
                    Sign out
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}
