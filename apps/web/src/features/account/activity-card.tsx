'use client';
// Recent security events of the account, so that its owner notices actions of others.
import { Card, CardHeader } from '@fairlead/ui/card';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { QueryView } from '../../common/page/query-view.tsx';

const WORDS: Readonly<Record<string, string>> = {
  signed_in: 'Signed in',
  signed_in_new_device: 'Signed in from a new device',
  signed_out_others: 'All other sessions ended',
  session_ended: 'A session ended',
  password_changed: 'Password changed',
  password_reset: 'Password reset by a link',
  email_verified: 'Email address confirmed',
  email_changed: 'Email address changed',
  passkey_added: 'Passkey added',
  passkey_removed: 'Passkey removed',
  github_linked: 'GitHub account linked',
  github_unlinked: 'GitHub account unlinked',
  two_factor_on: 'Two-factor sign-in turned on',
  two_factor_off: 'Two-factor sign-in turned off',
  recovery_codes_made: 'New recovery codes created',
  recovery_code_used: 'Recovery code used',
  recovered_on_server: "Recovered on the server's command line",
  account_restored: 'Account restored by a link',
};

export function ActivityCard() {
  const events = useQuery(useTRPC().account.listEvents.queryOptions());
  return (
    <Card>
      <CardHeader title="Recent activity" />
      <QueryView query={events} skeleton={<SkeletonRows rows={3} />}>
        {({ items }) => (
          <ul>
            {items.map((event) => (
              <li
                key={event.id}
                className="flex flex-wrap items-baseline gap-x-4 border-line border-t px-4 py-2.5 text-sm"
              >
                <span className="min-w-0 flex-1 basis-56 break-words">
                  {WORDS[event.kind] ?? event.kind}
                  {event.detail === null ? null : <span className="text-ink-faint"> ({event.detail})</span>}
                </span>
                <span className="text-ink-faint">
                  {event.device}
                  {event.ip === null ? null : <span className="font-mono">, {event.ip}</span>},{' '}
                  <RelativeTime at={event.at} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}
