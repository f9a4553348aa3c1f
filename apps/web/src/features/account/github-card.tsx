'use client';
// Links accounts at GitHub to this account, and unlinks them.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useAccountCall } from './use-account-call.ts';

type GithubAccount = Outputs['account']['listGithubAccounts']['items'][number];

/** Shows nothing while none of the person's organizations has connected GitHub. */
export function GithubCard() {
  const accounts = useQuery(useTRPC().account.listGithubAccounts.queryOptions()).data?.items ?? [];
  const [removed, setRemoved] = useState<GithubAccount | null>(null);
  if (accounts.length === 0) return null;
  return (
    <Card id="github" className="scroll-mt-4">
      <CardHeader
        title="GitHub"
        detail="A linked account may re-run, roll back and promote deployments on GitHub, with your permissions."
      />
      <ul>
        {accounts.map((account) => (
          <AccountRow key={account.githubAppId} account={account} onRemove={() => setRemoved(account)} />
        ))}
      </ul>
      <Dialog open={removed !== null} onClose={() => setRemoved(null)} title="Unlink GitHub account">
        {removed === null ? null : <RemoveForm account={removed} onDone={() => setRemoved(null)} />}
      </Dialog>
    </Card>
  );
}

function AccountRow({ account, onRemove }: { readonly account: GithubAccount; readonly onRemove: () => void }) {
  const client = useTRPCClient();
  const call = useAccountCall();
  const { githubAppId, appName, host, login, linkedAt, lastUsedAt, signsIn } = account;
  const link = async () => {
    const started = await call.run(() => client.account.startGithubLink.mutate({ githubAppId }));
    if (started !== undefined) window.location.assign(started.url);
  };
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <p className="truncate font-medium">{login === null ? 'Not linked' : `@${login}`}</p>
        <p className="text-pretty text-ink-faint text-sm">
          {appName} on {host}
          {linkedAt === null ? null : (
            <>
              , linked <RelativeTime at={linkedAt} />
            </>
          )}
          {lastUsedAt === null ? null : (
            <>
              , last sign-in <RelativeTime at={lastUsedAt} />
            </>
          )}
          {signsIn ? '. You can sign in with it instead of your password.' : null}
        </p>
      </div>
      {login === null ? (
        <Button
          size="small"
          aria-label={`Link account by ${appName}`}
          pending={call.pending}
          onClick={() => void link()}
        >
          Link account
        </Button>
      ) : (
        <Button size="small" variant="danger-outline" aria-label={`Unlink @${login}`} onClick={onRemove}>
          Unlink
        </Button>
      )}
      {call.failure === null ? null : <ErrorNote className="basis-full">{call.failure.message}</ErrorNote>}
    </li>
  );
}

function RemoveForm({ account, onDone }: { readonly account: GithubAccount; readonly onDone: () => void }) {
  const client = useTRPCClient();
  const call = useAccountCall();
  const { githubAppId, login, signsIn } = account;
  const remove = async () => {
    const done = await call.run(
      () => client.account.deleteGithubLink.mutate({ githubAppId }),
      'GitHub account unlinked',
    );
    if (done !== undefined) onDone();
  };
  return (
    <div className="flex flex-col gap-4">
      <p className="text-pretty text-ink-soft">
        Fairlead then rejects actions by <b className="font-medium text-ink">@{login}</b> on GitHub.
        {signsIn ? ' You can no longer sign in with this account.' : null}
      </p>
      {call.failure === null ? null : <ErrorNote>{call.failure.message}</ErrorNote>}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button variant="danger" pending={call.pending} onClick={() => void remove()}>
          Unlink @{login}
        </Button>
      </div>
    </div>
  );
}
