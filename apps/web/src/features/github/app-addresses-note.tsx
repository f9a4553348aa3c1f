'use client';
// Warns when a GitHub App has a former address of the dashboard, and says what to change at GitHub.
import { Button, buttonClass } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { StateMark } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { GithubApp } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

/** For people who may change the app. GitHub is asked once for a visit of the page. */
export function AppAddressesNote({ app }: { readonly app: GithubApp }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const input = { githubAppId: app.id };
  const addresses = useQuery(trpc.github.getAddresses.queryOptions(input, { staleTime: Number.POSITIVE_INFINITY }));
  const check = () => void queryClient.invalidateQueries(trpc.github.getAddresses.queryFilter(input));
  const update = useAction(
    useFreshMutation(trpc.github.updateWebhook.mutationOptions()),
    "The webhook URL wasn't changed",
    () => {
      check();
      toast({ title: 'Webhook URL changed' });
    },
  );
  if (addresses.isError) {
    return (
      <Note
        title="Addresses of the app weren’t checked"
        action={
          <Button size="small" pending={addresses.isFetching} onClick={() => void addresses.refetch()}>
            Check again
          </Button>
        }
      >
        <p>{readFailure(addresses.error).message}</p>
      </Note>
    );
  }
  if (addresses.data === undefined) return null;
  const { webhook, homepage, callbackUrls, settingsUrl } = addresses.data;
  const settings = (
    <a href={settingsUrl} target="_blank" rel="noreferrer" className={buttonClass('plain', 'small')}>
      Open app on GitHub
    </a>
  );
  return (
    <>
      {webhook.isForeign ? (
        <Note
          title="Webhooks don’t reach this dashboard"
          action={
            <Button variant="accent" size="small" pending={update.pending} onClick={() => update.run(input)}>
              Change webhook URL
            </Button>
          }
        >
          <p>
            GitHub sends pushes to another address, so they arrive only when Fairlead reads GitHub’s log. Let GitHub
            send them here:
          </p>
          <Change from={webhook.atGithub} to={webhook.expected} />
        </Note>
      ) : null}
      {homepage.isForeign ? (
        <Note title="The GitHub App uses an old dashboard URL" action={settings}>
          <p>
            Installing the app and signing in with GitHub may fail. On the app’s page on GitHub, under{' '}
            <strong className="font-medium">General</strong>, change these URLs:
          </p>
          <dl className="mt-2 flex flex-col gap-2">
            <div>
              <dt className="text-ink-soft text-sm">Homepage URL</dt>
              <dd>
                <Change from={homepage.atGithub} to={homepage.expected} />
              </dd>
            </div>
            <div>
              <dt className="text-ink-soft text-sm">Callback URLs</dt>
              {callbackUrls.map((url) => (
                <dd key={url}>
                  <Url value={url} />
                </dd>
              ))}
            </div>
          </dl>
          <p className="mt-2">
            GitHub doesn't show Fairlead the callback URLs, so check them yourself. This note disappears once the
            homepage URL is correct.
          </p>
          <p className="mt-2">
            <Button size="small" pending={addresses.isFetching} onClick={check}>
              Check again
            </Button>
          </p>
        </Note>
      ) : null}
    </>
  );
}

function Note({
  title,
  action,
  children,
}: {
  readonly title: string;
  readonly action: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section
      aria-label={title}
      className="flex flex-wrap items-start gap-x-3 gap-y-3 border-line border-t bg-warn-wash px-4 py-3"
    >
      <span className="mt-1">
        <StateMark tone="warn" />
      </span>
      <div className="min-w-0 flex-1 basis-60 text-pretty">
        <h3 className="font-medium text-warn-text">{title}</h3>
        {children}
      </div>
      {action}
    </section>
  );
}

/** `from`: address at GitHub; empty: none. */
function Change({ from, to }: { readonly from: string; readonly to: string }) {
  return (
    <>
      {from === '' ? null : (
        <p className="break-all font-mono text-ink-soft text-sm line-through">
          <span className="sr-only">Now: </span>
          {from}
        </p>
      )}
      <Url value={to} />
    </>
  );
}

function Url({ value }: { readonly value: string }) {
  return (
    <span className="flex items-center gap-1">
      <span className="break-all font-mono text-sm">{value}</span>
      <CopyButton value={value} label={`Copy ${value}`} />
    </span>
  );
}
