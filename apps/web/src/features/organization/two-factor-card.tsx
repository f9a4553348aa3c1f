'use client';
// Requires a second factor of all members. Warns first that members without one lose access.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { StatePill } from '@fairlead/ui/state-pill';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import { Setting } from '../../common/form/setting.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';

export function TwoFactorCard({ readOnly }: { readonly readOnly: boolean }) {
  const { organization, user } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const required = organization.requiresTwoFactor;
  const update = useAction(
    useFreshMutation(trpc.organization.update.mutationOptions()),
    "The setting wasn't changed",
    () => router.refresh(),
  );
  const detail = required
    ? 'Members without a second factor have no access here until they set one up.'
    : user.hasSecondFactor
      ? 'Members without one are locked out until they set one up in their account.'
      : 'First sign in with a passkey or set up two-factor sign-in yourself, or you will lock yourself out.';
  return (
    <Card id="security" className="scroll-mt-4">
      <CardHeader title="Security" />
      <Setting title="Require two-factor sign-in" detail={detail}>
        {readOnly ? (
          <StatePill tone={required ? 'ok' : 'idle'}>{required ? 'Required' : 'Not required'}</StatePill>
        ) : (
          <Button
            pending={update.pending}
            disabled={!required && !user.hasSecondFactor}
            onClick={() => update.run({ requiresTwoFactor: !required })}
          >
            {required ? 'Disable' : 'Enable'}
          </Button>
        )}
      </Setting>
    </Card>
  );
}
