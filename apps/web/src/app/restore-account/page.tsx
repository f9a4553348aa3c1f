import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { ResetPasswordForm } from '../../features/identity/reset-password-form.tsx';

export const metadata: Metadata = { title: 'Restore your account' };

const LEAD =
  'Restores the email address that this link was sent to and sets a new password. Removes every passkey, authenticator app and recovery code, and ends all sessions.';
const DONE =
  "Your account is restored. Sign in, set up a second factor, and revoke API tokens, members and servers that you don't recognize.";

export default function RestoreAccountPage() {
  return (
    <ApiProvider organization={null}>
      <ResetPasswordForm
        title="Restore your account"
        lead={LEAD}
        submitLabel="Restore account"
        done={DONE}
        linkInvalid={{
          lead: 'Ask the operator of this server to recover your account.',
          way: { label: 'Sign in', href: '/sign-in' },
        }}
      />
    </ApiProvider>
  );
}
