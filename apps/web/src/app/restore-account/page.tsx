import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { IdentityFrame } from '../../common/identity-frame.tsx';
import { ResetPasswordForm } from '../../features/identity/reset-password-form.tsx';

export const metadata: Metadata = { title: 'Restore your account' };

const LEAD =
  'Removes every passkey, authenticator app and recovery code, ends all sessions, and gives the account back the address that the mail went to.';
const DONE =
  'Your account is restored. Sign in, set up a second factor, and revoke API tokens, members and servers that you do not know.';

export default function RestoreAccountPage() {
  return (
    <IdentityFrame title="Restore your account" lead={LEAD}>
      <ApiProvider organization={null}>
        <ResetPasswordForm submitLabel="Restore account" done={DONE} />
      </ApiProvider>
    </IdentityFrame>
  );
}
