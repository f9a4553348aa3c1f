import { benchmarkPlanSchema } from '@fairlead/core/benchmark/schema';
import { ToastProvider } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { AppRouterContext } from 'next/dist/shared/lib/app-router-context.shared-runtime';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { ApiProvider, useTRPC } from '../../api/trpc.tsx';
import type { Me, SavedPlan } from '../../api/types.ts';
import { MeProvider, type Permission } from '../../common/organization/me.tsx';
import { EditPlanDialog } from './edit-plan-dialog.tsx';

const app = { id: 'app_1', serverId: 'srv_1', hosts: [] };
const plan = {
  ...{ id: 'bpl_1', appId: 'app_1', appName: 'Shop', appSlug: 'shop', environmentId: 'env_1', version: 1 },
  ...{ environmentName: 'Production', name: 'Nightly', plan: benchmarkPlanSchema.parse({}), loadServers: [] },
} as unknown as SavedPlan;

/** Fills the cache with the answers of the API. */
function WithServers({ names, children }: { readonly names: readonly string[]; readonly children: ReactNode }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const items = names.map((name, at) => ({ id: `srv_${at + 1}`, name, state: 'online' }));
  client.setQueryData(trpc.server.list.queryKey(), { items } as never);
  client.setQueryData(trpc.app.list.queryKey({ limit: 100 }), { items: [app] } as never);
  return children;
}

function render(isFromRepository: boolean, names: readonly string[], permissions: readonly Permission[] = []): string {
  const organization = { slug: 'acme', permissions, granted: [] } as unknown as Me['organizations'][number];
  return renderToStaticMarkup(
    <AppRouterContext value={{} as never}>
      <MeProvider me={{ user: {}, organizations: [organization] } as unknown as Me} organization={organization}>
        <ApiProvider organization="acme">
          <ToastProvider>
            <WithServers names={names}>
              <EditPlanDialog plan={{ ...plan, isFromRepository }} onClose={() => undefined} />
            </WithServers>
          </ToastProvider>
        </ApiProvider>
      </MeProvider>
    </AppRouterContext>,
  );
}

test('the dialog of a repository plan says that there is no other server', () => {
  expect(render(true, ['local'])).toContain('This organization has no other server. Ask an owner to add one.');
  const owner = render(true, ['local'], ['server.enrol']);
  expect(owner).toContain('This organization has no other server.');
  expect(owner).toContain('href="/acme/servers?add=1"');
  const withOther = render(true, ['local', 'east']);
  expect(withOther).toContain('east');
  expect(withOther).not.toContain('no other server');
  expect(render(false, ['local'])).not.toContain('no other server');
});
