'use client';
// Page to which GitHub returns a person who links their account. It completes the link once.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Logo } from '@fairlead/ui/logo';
import { Spinner } from '@fairlead/ui/spinner';
import { useToast } from '@fairlead/ui/toast';
import { Unplug } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useEffect, useRef } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';

export interface GithubReturnProps {
  readonly state: string;
  readonly code: string;
}

export function GithubLinkedPage({ state, code }: GithubReturnProps) {
  const toast = useToast();
  const router = useRouter();
  const complete = useFreshMutation(useTRPC().account.completeGithubLink.mutationOptions());
  const isMissing = state === '' || code === '';
  const run = () =>
    complete.mutate(
      { state, code },
      {
        onSuccess: ({ login }) => {
          toast({ title: `@${login} is linked` });
          router.replace('/account');
        },
      },
    );
  const hasRun = useRef(false);
  useEffect(() => {
    if (hasRun.current || isMissing) return;
    hasRun.current = true;
    run();
  });
  const failure = complete.error === null ? null : readFailure(complete.error);
  const back = (
    <HoverLink href="/account" className={buttonClass('plain')}>
      Open your account
    </HoverLink>
  );
  return (
    <main>
      <Page>
        <div className="mb-8">
          <Logo size={22} />
        </div>
        <Card>
          {isMissing ? (
            <EmptyState
              icon={<Unplug size={20} aria-hidden="true" />}
              title="No account was linked"
              level={1}
              action={back}
            >
              GitHub sent you back without a code. Start again from your account.
            </EmptyState>
          ) : failure === null ? (
            <EmptyState icon={<Spinner />} title="Linking your GitHub account…" level={1} />
          ) : (
            <EmptyState
              icon={<Unplug size={20} aria-hidden="true" />}
              title="No account was linked"
              level={1}
              action={
                <>
                  {failure.code === 'session.not_fresh' || failure.code === 'session.second_factor_required' ? (
                    <Button variant="accent" onClick={run}>
                      Confirm and continue
                    </Button>
                  ) : null}
                  {back}
                </>
              }
            >
              {failure.message}
            </EmptyState>
          )}
        </Card>
      </Page>
    </main>
  );
}
