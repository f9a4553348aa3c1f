'use client';
// Personal tokens of all members with access to this organization, for member administrators, who can revoke them.
import { Card, CardHeader } from '@fairlead/ui/card';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { TokenRows } from './token-rows.tsx';

export function MemberTokenCard() {
  const { user } = useMe();
  const trpc = useTRPC();
  const tokens = useQuery(trpc.member.listTokens.queryOptions());
  const revoke = useAction(
    useMutation(trpc.member.revokeToken.mutationOptions()),
    "The token wasn't revoked",
    () => void tokens.refetch(),
  );
  return (
    <Card>
      <CardHeader
        title="Tokens of other members"
        detail="A token never has more permissions than its owner. Revoke tokens that leaked or that no member recognizes."
      />
      <div className="border-line border-t">
        <QueryView query={tokens} skeleton={<SkeletonRows rows={2} />}>
          {({ items }) => {
            const others = items.filter(({ owner }) => owner.userId !== user.id);
            return others.length === 0 ? (
              <p className="px-4 py-3 text-ink-faint">No tokens of other members.</p>
            ) : (
              <TokenRows
                tokens={others}
                ownerOf={(token) => others.find(({ id }) => id === token.id)?.owner ?? null}
                pending={revoke.pending}
                onRevoke={(tokenId) => revoke.run({ tokenId })}
              />
            );
          }}
        </QueryView>
      </div>
    </Card>
  );
}
