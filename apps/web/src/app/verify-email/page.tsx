import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { VerifyEmailForm } from '../../features/identity/verify-email-form.tsx';

export const metadata: Metadata = { title: 'Confirm your email address' };

export default function VerifyEmailPage() {
  return (
    <IdentityFrame title="Confirm your email address" lead="Needed to reset a forgotten password by email.">
      <ApiProvider organization={null}>
        <VerifyEmailForm />
      </ApiProvider>
    </IdentityFrame>
  );
}
