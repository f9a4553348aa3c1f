import type { Metadata } from 'next';
import { IdentityFrame } from '../../../common/identity/identity-frame.tsx';
import { GithubSignIn } from '../../../features/identity/github-sign-in.tsx';
import { readQuery, type SearchProps } from '../../../server/read-query.ts';

export const metadata: Metadata = { title: 'Sign in' };

export default async function Page({ searchParams }: SearchProps) {
  const read = await readQuery(searchParams);
  return (
    <IdentityFrame title="Sign in" lead="With your GitHub account.">
      <GithubSignIn state={read('state')} code={read('code')} />
    </IdentityFrame>
  );
}
