import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { VerifyEmailForm } from '../../features/identity/verify-email-form.tsx';

export const metadata: Metadata = { title: 'Confirm your email address' };

export default function VerifyEmailPage() {
  return (
    <ApiProvider organization={null}>
      <VerifyEmailForm />
    </ApiProvider>
  );
}
