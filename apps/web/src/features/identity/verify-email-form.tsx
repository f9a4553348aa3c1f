'use client';
// Confirms an email address on a button press: mail scanners that open links must not use the token up.
import { Button, buttonClass } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useMutation } from '@tanstack/react-query';
import Link from 'next/link';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useLinkToken } from '../../common/identity/use-link-token.ts';

export function VerifyEmailForm() {
  const token = useLinkToken();
  const verify = useMutation(useTRPC().account.verifyEmail.mutationOptions());
  if (verify.isSuccess) {
    return (
      <div className="flex flex-col gap-5">
        <p role="status" className="break-words">
          {verify.data.email} is confirmed.
        </p>
        <Link href="/" className={buttonClass('accent', 'large')}>
          Open the dashboard
        </Link>
      </div>
    );
  }
  if (token === '') {
    return <ErrorNote>This link is incomplete. Open the full link from the email, or request a new one.</ErrorNote>;
  }
  return (
    <div className="flex flex-col gap-4">
      {verify.error === null ? null : <ErrorNote>{readFailure(verify.error).message}</ErrorNote>}
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
  );
}
