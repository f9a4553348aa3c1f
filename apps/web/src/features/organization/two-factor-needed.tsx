'use client';
// What a member without a second factor sees of an organization that asks for one: why, and the two ways on.
import { buttonClass } from '@fairlead/ui/button';
import { IdentityFrame } from '../../common/identity-frame.tsx';
import { useMe } from '../../common/me.tsx';
import { accountPath } from '../../common/paths.ts';

export function TwoFactorNeeded() {
  const { organization, organizations } = useMe();
  const others = organizations.filter(({ id }) => id !== organization.id);
  return (
    <IdentityFrame
      title="Two-factor sign-in needed"
      lead={`${organization.name} asks its members for a second factor. Set one up in your account, then come back.`}
    >
      <div className="flex flex-col items-start gap-3">
        <a href={accountPath} className={buttonClass('accent', 'large')}>
          Open my account
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
