'use client';
// Page for a member without a proven second factor in an organization that requires one. Explains why, and what to do.
import { Button, buttonClass } from '@fairlead/ui/button';
import { useQuery } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import { useIdentityConfirmation } from '../../common/identity/confirm-identity.tsx';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { accountPath } from '../../common/organization/paths.ts';

export function TwoFactorNeeded() {
  const { organization, organizations } = useMe();
  const router = useRouter();
  const { confirm } = useIdentityConfirmation();
  const { data: account, isPending } = useQuery(useTRPC().account.get.queryOptions());
  const hasFactor = account !== undefined && (account.hasSecondFactor || account.passkeys.length > 0);
  const confirmFactor = async () => {
    if (await confirm('session.second_factor_required')) router.refresh();
  };
  const others = organizations.filter(({ id }) => id !== organization.id);
  return (
    <IdentityFrame
      title="Two-factor sign-in needed"
      lead={`${organization.name} requires a second factor: a passkey, or a code from an authenticator app after the password.`}
    >
      <div className="flex flex-col items-start gap-3">
        {isPending ? null : hasFactor ? (
          <Button
            variant="accent"
            size="large"
            icon={<KeyRound size={16} aria-hidden="true" />}
            onClick={() => void confirmFactor()}
          >
            Confirm second factor
          </Button>
        ) : (
          <a href={accountPath} className={buttonClass('accent', 'large')}>
            Set up second factor
          </a>
        )}
        {hasFactor ? (
          <a href={accountPath} className={buttonClass('plain', 'large')}>
            Open my account
          </a>
        ) : null}
        {others.map((each) => (
          <a key={each.id} href={`/${each.slug}`} className={buttonClass('plain', 'large')}>
            Go to {each.name}
          </a>
        ))}
      </div>
    </IdentityFrame>
  );
}
