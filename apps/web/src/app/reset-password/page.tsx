import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { ResetPasswordForm } from '../../features/identity/reset-password-form.tsx';

export const metadata: Metadata = { title: 'Set a new password' };

export default function ResetPasswordPage() {
  return (
    <IdentityFrame title="Set a new password" lead="It replaces the old one and ends every session.">
      <ApiProvider organization={null}>
        <ResetPasswordForm submitLabel="Set password" done="Your password is set, and every session was ended." />
      </ApiProvider>
    </IdentityFrame>
  );
}
