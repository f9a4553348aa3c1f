import type { Metadata } from 'next';
import Link from 'next/link';
import { ApiProvider } from '../../api/trpc.tsx';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { ForgotPasswordForm } from '../../features/identity/forgot-password-form.tsx';
import { pageApi } from '../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Forgot password' };

export default async function ForgotPasswordPage() {
  const api = await pageApi(null);
  const { canMail } = await api.require(api.queryClient.fetchQuery(api.trpc.account.help.queryOptions()));
  return (
    <IdentityFrame
      title="Forgot your password?"
      lead={
        canMail
          ? 'An email link resets it. Two-factor sign-in stays on.'
          : "Email isn't configured on this control plane, so it can't send you a reset link."
      }
    >
      {canMail ? (
        <ApiProvider organization={null}>
          <ForgotPasswordForm />
        </ApiProvider>
      ) : (
        <div className="flex flex-col gap-3 text-pretty">
          <p>Ask the operator to print a one-time link with this command on the control plane's server:</p>
          <pre className="overflow-x-auto rounded-control bg-sunken px-3 py-2 font-mono text-sm">
            fairlead recover --email you@example.com
          </pre>
          <p className="text-sm text-ink-soft">
            In a clone of the repository, the command is{' '}
            <code className="font-mono">npm run recover -- --email you@example.com</code>. To get such links by email,
            the operator sets mail.smtp_url_file and mail.from.
          </p>
        </div>
      )}
      <p className="mt-6 text-sm">
        <Link href="/sign-in" className="text-ink-soft underline-offset-2 hover:text-ink hover:underline">
          Back to sign in
        </Link>
      </p>
    </IdentityFrame>
  );
}
