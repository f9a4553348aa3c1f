'use client';
// What a member without a second factor sees of an organization that asks for one: why, and the ways on.
import { authClient, hasPasskeys } from '@fairlead/auth/client';
import { Button, buttonClass } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useMutation } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { IdentityFrame } from '../../common/identity-frame.tsx';
import { useMe } from '../../common/me.tsx';
import { accountPath } from '../../common/paths.ts';

export function TwoFactorNeeded() {
  const { organization, organizations } = useMe();
  const router = useRouter();
  const byPasskey = useMutation({ mutationFn: () => authClient.confirmByPasskey() });
  const others = organizations.filter(({ id }) => id !== organization.id);
  return (
    <IdentityFrame
      title="Two-factor sign-in needed"
      lead={`${organization.name} asks its members for a second factor: a passkey, or a code of an authenticator app after the password.`}
    >
      <div className="flex flex-col items-start gap-3">
        {hasPasskeys() ? (
          <Button
            size="large"
            icon={<KeyRound size={16} aria-hidden="true" />}
            pending={byPasskey.isPending}
            onClick={() => byPasskey.mutate(undefined, { onSuccess: ({ ok }) => (ok ? router.refresh() : undefined) })}
          >
            Use a passkey that I have
          </Button>
        ) : null}
        {byPasskey.data?.ok === false || byPasskey.error !== null ? (
          <ErrorNote>That passkey did not confirm it. Try again, or set up another second factor.</ErrorNote>
        ) : null}
        <a href={accountPath} className={buttonClass('accent', 'large')}>
          Set one up in my account
        </a>
        {others.map((each) => (
          <a key={each.id} href={`/${each.slug}`} className={buttonClass('plain', 'large')}>
            Go to {each.name}
          </a>
        ))}
      </div>
    </IdentityFrame>
  );
}
