import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { ResetPasswordForm } from '../../features/identity/reset-password-form.tsx';

export const metadata: Metadata = { title: 'Set a new password' };

export default function ResetPasswordPage() {
  return (
    <ApiProvider organization={null}>
      <ResetPasswordForm
        title="Set a new password"
        lead="It replaces the old one and ends every session."
        submitLabel="Set password"
        done="Your password is set, and every session was ended."
        linkInvalid={{
          lead: 'Reset links work once, within 30 minutes. Your password is unchanged.',
          way: { label: 'Request a new link', href: '/forgot-password' },
        }}
      />
    </ApiProvider>
  );
}
