import { useQueryClient } from '@tanstack/react-query';
import { AppRouterContext } from 'next/dist/shared/lib/app-router-context.shared-runtime';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { ApiProvider, useTRPC } from '../../api/trpc.tsx';
import type { Me, Outputs } from '../../api/types.ts';
import { ConfirmIdentityProvider } from '../../common/identity/confirm-identity.tsx';
import { MeProvider } from '../../common/organization/me.tsx';
import { TwoFactorNeeded } from './two-factor-needed.tsx';

const organization = { id: 'org_1', slug: 'acme', name: 'Acme', permissions: [], granted: [] };

function Known({ account, children }: { readonly account: object; readonly children: ReactNode }) {
  const key = useTRPC().account.get.queryKey();
  useQueryClient().setQueryData(key, account as Outputs['account']['get']);
  return children;
}

function pageOf(account: Partial<Outputs['account']['get']>): string {
  return renderToStaticMarkup(
    <AppRouterContext value={{} as never}>
      <ApiProvider organization="acme">
        <MeProvider
          me={{ user: {}, organizations: [organization] } as unknown as Me}
          organization={organization as unknown as Me['organizations'][number]}
        >
          <ConfirmIdentityProvider>
            <Known account={account}>
              <TwoFactorNeeded />
            </Known>
          </ConfirmIdentityProvider>
        </MeProvider>
      </ApiProvider>
    </AppRouterContext>,
  );
}

test('an account is offered to confirm a second factor only if it has one', () => {
  const passkey = { id: 'p' } as Outputs['account']['get']['passkeys'][number];
  for (const account of [
    { hasSecondFactor: true, passkeys: [] },
    { hasSecondFactor: false, passkeys: [passkey] },
  ]) {
    expect(pageOf(account)).toContain('Confirm second factor');
    expect(pageOf(account)).not.toContain('Set one up');
  }
  const without = pageOf({ hasSecondFactor: false, passkeys: [] });
  expect(without).not.toContain('Confirm second factor');
  expect(without).toContain('Set up second factor');
});
