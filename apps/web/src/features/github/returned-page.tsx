'use client';
// Pages to which GitHub redirects: after an app was created, and after it was installed. Each completes its step once.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Spinner } from '@fairlead/ui/spinner';
import { useToast } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { Unplug } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { type ReactNode, useEffect, useRef } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { Page } from '../../common/page/page.tsx';

export interface RegisteredPageProps {
  readonly state: string;
  readonly code: string;
}

/** Stores the new app, then continues to its installation at GitHub. */
export function RegisteredPage({ state, code }: RegisteredPageProps) {
  const complete = useFreshMutation(useTRPC().github.completeRegistration.mutationOptions());
  const run = () => complete.mutate({ state, code }, { onSuccess: ({ url }) => window.location.replace(url) });
  useOnce(run, state !== '' && code !== '');
  return (
    <Returned
      title="Creating the GitHub App…"
      error={complete.error}
      isMissing={state === '' || code === ''}
      onRetry={run}
    />
  );
}

export interface InstalledPageProps extends RegisteredPageProps {
  /** As GitHub names it; 0: the redirect has none. */
  readonly installationId: number;
}

/** Links the installation, then shows it. */
export function InstalledPage({ state, code, installationId }: InstalledPageProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const router = useRouter();
  const queryClient = useQueryClient();
  const complete = useFreshMutation(trpc.github.completeInstall.mutationOptions());
  const isMissing = state === '' || code === '' || installationId === 0;
  const run = () =>
    complete.mutate(
      { state, code, installationId },
      {
        onSuccess: ({ accountLogin }) => {
          void queryClient.invalidateQueries(trpc.github.pathFilter());
          toast({ title: `${accountLogin} is connected`, detail: 'Create an app from one of its repositories.' });
          router.replace(paths.git);
        },
      },
    );
  useOnce(run, !isMissing);
  return <Returned title="Reading your repositories…" error={complete.error} isMissing={isMissing} onRetry={run} />;
}

/** Runs work once, also when React renders twice. */
function useOnce(run: () => void, isReady: boolean): void {
  const hasRun = useRef(false);
  useEffect(() => {
    if (hasRun.current || !isReady) return;
    hasRun.current = true;
    run();
  });
}

interface ReturnedProps {
  readonly title: string;
  readonly error: unknown;
  readonly isMissing: boolean;
  readonly onRetry: () => void;
}

function Returned({ title, error, isMissing, onRetry }: ReturnedProps) {
  const { paths } = useMe();
  const failure = error === null ? null : readFailure(error);
  const back = (
    <a href={paths.git} className={buttonClass('plain')}>
      Open Git settings
    </a>
  );
  return (
    <Page>
      <Card>
        {isMissing ? (
          <Problem title="This link is incomplete" action={back}>
            Start again from Git settings.
          </Problem>
        ) : failure === null ? (
          <EmptyState icon={<Spinner />} title={title} level={1} />
        ) : (
          <Problem
            title="GitHub is not connected"
            action={
              <>
                {failure.code === 'session.not_fresh' ? (
                  <Button variant="accent" onClick={onRetry}>
                    Confirm and continue
                  </Button>
                ) : null}
                {back}
              </>
            }
          >
            {failure.message}
          </Problem>
        )}
      </Card>
    </Page>
  );
}

interface ProblemProps {
  readonly title: string;
  readonly action: ReactNode;
  readonly children: ReactNode;
}

function Problem({ title, action, children }: ProblemProps) {
  return (
    <EmptyState icon={<Unplug size={20} aria-hidden="true" />} title={title} level={1} action={action}>
      {children}
    </EmptyState>
  );
}
