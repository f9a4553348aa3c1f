import type { Metadata } from 'next';
import { redirect } from 'next/navigation';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { safeNext } from '../../features/identity/safe-next.ts';
import { SignInForm } from '../../features/identity/sign-in-form.tsx';
import { pageApi } from '../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Sign in' };

interface Props {
  readonly searchParams: Promise<Readonly<Record<string, string | string[] | undefined>>>;
}

export default async function SignInPage({ searchParams }: Props) {
  const { next } = await searchParams;
  const api = await pageApi(null);
  const { github } = await api.require(api.queryClient.fetchQuery(api.trpc.account.signInWays.queryOptions()));
  const { needed } = await api.require(api.queryClient.fetchQuery(api.trpc.setup.status.queryOptions()));
  if (needed) redirect('/setup');
  return (
    <IdentityFrame title="Sign in" lead="Welcome back.">
      <SignInForm next={safeNext(typeof next === 'string' ? next : null)} hasGithub={github} />
    </IdentityFrame>
  );
}
