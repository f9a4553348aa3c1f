import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { IdentityFrame } from '../../common/identity-frame.tsx';
import { VerifyEmailForm } from '../../features/identity/verify-email-form.tsx';

export const metadata: Metadata = { title: 'Confirm your e-mail address' };

export default function VerifyEmailPage() {
  return (
    <IdentityFrame title="Confirm your e-mail address" lead="So that a forgotten password can be set anew by mail.">
      <ApiProvider organization={null}>
        <VerifyEmailForm />
      </ApiProvider>
    </IdentityFrame>
  );
}
