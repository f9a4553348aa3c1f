'use client';
// Confirms an email address on a button press: mail scanners that open links must not use the token up.
import { Button, buttonClass } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useMutation } from '@tanstack/react-query';
import Link from 'next/link';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { LinkProblem } from '../../common/identity/link-problem.tsx';
import { useLinkToken } from '../../common/identity/use-link-token.ts';
import { accountPath } from '../../common/organization/paths.ts';

const WAY = { label: 'Send a new link', href: `${accountPath}#email` };

export function VerifyEmailForm() {
  const token = useLinkToken();
  const verify = useMutation(useTRPC().account.verifyEmail.mutationOptions());
  const failure = verify.error === null ? null : readFailure(verify.error);
  if (token === '' && !verify.isSuccess) {
    return <LinkProblem title="This link is incomplete" lead="Open the full link from the email." way={WAY} />;
  }
  if (failure?.code === 'account.link_invalid') {
    return (
      <LinkProblem
        title="This link was used or has expired"
        lead="Your account can send a new one. If the address is confirmed already, there is nothing to do."
        way={WAY}
      />
    );
  }
  return (
    <IdentityFrame title="Confirm your email address" lead="Needed to reset a forgotten password by email.">
      {verify.isSuccess ? (
        <div className="flex flex-col gap-5">
          <p role="status" className="break-words">
            {verify.data.email} is confirmed.
          </p>
          <Link href="/" className={buttonClass('accent', 'large')}>
            Open the dashboard
          </Link>
        </div>
      ) : (
        <div className="flex flex-col gap-4">
          {failure === null ? null : <ErrorNote>{failure.message}</ErrorNote>}
          <Button
            variant="accent"
            size="large"
            pending={verify.isPending}
            disabled={token === null}
            onClick={() =>
              verify.mutate(
                { token: token ?? '' },
                { onSuccess: () => window.history.replaceState(null, '', '/verify-email') },
              )
            }
          >
            Confirm address
          </Button>
        </div>
      )}
    </IdentityFrame>
  );
}
