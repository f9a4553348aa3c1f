'use client';
// Table of tokens: name, last characters, expiry, and a revoke action.
import { Button } from '@fairlead/ui/button';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { permissionLabel } from '../../common/organization/role-labels.ts';
import { scopesOf, type TokenScope } from './permissions.ts';

export type Token = Outputs['token']['list']['items'][number];

type TokenOwner = Outputs['member']['listTokens']['items'][number]['owner'];

export interface TokenRowsProps {
  readonly tokens: readonly Token[];
  readonly pending: boolean;
  /** Owner of each token, in a table with tokens of several people. */
  readonly ownerOf?: (token: Token) => TokenOwner | null;
  /** Revokes a token; undefined if the reader may not. */
  readonly onRevoke?: ((tokenId: Token['id']) => void) | undefined;
}

export function TokenRows({ tokens, ownerOf, pending, onRevoke }: TokenRowsProps) {
  const scopes = scopesOf(useQuery(useTRPC().project.list.queryOptions()).data?.items ?? []);
  const [revoking, setRevoking] = useState<Token | null>(null);
  return (
    <>
      <Table>
        <TableHead>
          <HeadCell>Token</HeadCell>
          <HeadCell className="max-md:hidden">Permissions</HeadCell>
          <HeadCell className="max-sm:hidden">Last used</HeadCell>
          <HeadCell>Expires</HeadCell>
          <HeadCell>
            <span className="sr-only">Revoke</span>
          </HeadCell>
        </TableHead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id} className="border-line border-b last:border-b-0">
              <Cell className="w-full max-w-0">
                <span className="block truncate font-medium">{token.name}</span>
                <span className="block truncate font-mono text-xs text-ink-faint">
                  flt_…{token.hint}
                  {token.ipRanges.length === 0 ? '' : ` from ${token.ipRanges.join(', ')}`}
                </span>
                {ownerOf === undefined ? null : <Owner owner={ownerOf(token)} />}
              </Cell>
              <Cell className="max-w-80 max-md:hidden">
                <span className="block truncate" title={permissionsText(token)}>
                  {permissionsText(token)}
                </span>
                <span className="block text-sm text-ink-faint">{scopeText(token, scopes)}</span>
              </Cell>
              <Cell className="whitespace-nowrap text-ink-soft max-sm:hidden">
                {token.lastUsedAt === null ? 'Never' : <RelativeTime at={token.lastUsedAt} />}
              </Cell>
              <Cell className="whitespace-nowrap">
                {token.expired ? <span className="text-bad-text">Expired</span> : <RelativeTime at={token.expiresAt} />}
              </Cell>
              <Cell>
                {onRevoke === undefined ? null : (
                  <Button size="small" variant="danger-outline" onClick={() => setRevoking(token)}>
                    Revoke
                  </Button>
                )}
              </Cell>
            </tr>
          ))}
        </tbody>
      </Table>
      {revoking === null || onRevoke === undefined ? null : (
        <ConfirmDialog
          title={`Revoke ${revoking.name}`}
          action={`Revoke ${revoking.name}`}
          pending={pending}
          onConfirm={() => {
            onRevoke(revoking.id);
            setRevoking(null);
          }}
          onClose={() => setRevoking(null)}
        >
          <p>
            Clients that use <span className="font-mono">flt_…{revoking.hint}</span> are rejected immediately. This
            can't be undone. Create a new token to replace it.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function Owner({ owner }: { readonly owner: TokenOwner | null }) {
  if (owner === null) return null;
  return (
    <span className="block truncate text-sm text-ink-soft">
      {owner.name} ({owner.email}){owner.isMember ? '' : ', who has left: no longer works'}
    </span>
  );
}

function permissionsText({ permissions }: Token): string {
  return permissions.map(permissionLabel).join(', ');
}

function scopeText({ projectId, environmentId }: Token, scopes: readonly TokenScope[]): string {
  const limit = environmentId ?? projectId;
  if (limit === null) return 'everywhere';
  const label = scopes.find(({ value }) => value === limit)?.label;
  return label ?? (environmentId === null ? 'in one project' : 'in one environment');
}
