import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { ResetPasswordForm } from '../../features/identity/reset-password-form.tsx';

export const metadata: Metadata = { title: 'Restore your account' };

const LEAD =
  'Sets a new password and the address that the mail went to, removes every passkey, authenticator app and recovery code, and ends all sessions.';
const DONE =
  "Your account is restored. Sign in, set up a second factor, and revoke API tokens, members and servers that you don't recognize.";

const LINK_INVALID = 'This link was used or has expired. Ask the operator of this server to recover your account.';

export default function RestoreAccountPage() {
  return (
    <IdentityFrame title="Restore your account" lead={LEAD}>
      <ApiProvider organization={null}>
        <ResetPasswordForm submitLabel="Restore account" done={DONE} linkInvalid={LINK_INVALID} />
      </ApiProvider>
    </IdentityFrame>
  );
}
