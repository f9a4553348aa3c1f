'use client';
// Says on an app's page that GitHub no longer lets Fairlead read its repository.
import { WarnNote } from '@fairlead/ui/warn-note';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

type Linked = NonNullable<Outputs['github']['getAppRepository']['repository']>;

/** Sentence for each state of an app's repository. */
export const repositorySentences: Readonly<Record<Linked['state'], string>> = {
  active: 'Builds read it with a token that expires after an hour.',
  suspended: 'The GitHub App is suspended, so no build can read it.',
  removed: 'The GitHub App was uninstalled, so no build can read it.',
  lost: 'The GitHub App has no access to it, so no build can read it.',
};

export function RepositoryNotice({ appId }: { readonly appId: string }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const linked = useQuery(trpc.github.getAppRepository.queryOptions({ appId })).data?.repository ?? null;
  if (linked === null || linked.state === 'active') return null;
  return (
    <WarnNote>
      Repository <span className="font-mono">{linked.fullName}</span>: {repositorySentences[linked.state]} The live
      release is not affected.{' '}
      <HoverLink href={paths.git} className="underline">
        Git settings
      </HoverLink>
    </WarnNote>
  );
}
