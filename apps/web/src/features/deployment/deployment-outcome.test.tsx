// Component tests of a deployment's page: what a failed one leads with, and what a waiting one says.
import { parseId } from '@fairlead/contract/ids';
import { AppRouterContext } from 'next/dist/shared/lib/app-router-context.shared-runtime';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { ApiProvider } from '../../api/trpc.tsx';
import type { DeploymentDetail, DeploymentSummary, Me } from '../../api/types.ts';
import { WaitingNote } from '../../common/app/waiting-note.tsx';
import { LastFailure } from '../../common/deployment/last-failure.tsx';
import { ConfirmIdentityProvider } from '../../common/identity/confirm-identity.tsx';
import { MeProvider } from '../../common/organization/me.tsx';
import { DeploymentOutcome } from './deployment-outcome.tsx';
import { failingLines } from './failing-lines.ts';
import { viewLine } from './merge-log-lines.ts';

const organization = { id: 'org_1', slug: 'acme', name: 'Acme', permissions: ['deployment.write'], granted: [] };
const DEPLOYMENT = parseId('dep', 'dep_00000000000000000000000000');

function page(children: ReactNode): string {
  return renderToStaticMarkup(
    <AppRouterContext value={{} as never}>
      <ApiProvider organization="acme">
        <MeProvider
          me={{ user: {}, organizations: [organization] } as unknown as Me}
          organization={organization as unknown as Me['organizations'][number]}
        >
          <ConfirmIdentityProvider>{children}</ConfirmIdentityProvider>
        </MeProvider>
      </ApiProvider>
    </AppRouterContext>,
  );
}

const failed = {
  id: DEPLOYMENT,
  number: 3,
  appSlug: 'shop',
  environmentId: 'env_1',
  projectId: 'prj_1',
  serverId: 'srv_1',
  state: 'failed',
  failureCode: 'rollout.crash_loop',
  failureMessage: 'The app ended 5 times.',
  hadLiveRelease: false,
  canRetry: true,
  canRedeploy: true,
} as unknown as DeploymentDetail;

function outcome(log: readonly string[], changes: Partial<DeploymentDetail> = {}): string {
  const lines = log.map((text, number) => viewLine({ step: 'start', stream: 'stderr', text, unixMs: 1 }, number));
  const failing = failingLines(lines, { message: null, failedStep: 'start' });
  return page(
    <DeploymentOutcome
      deployment={{ ...failed, ...changes }}
      lines={lines}
      failing={failing}
      onShowError={() => undefined}
    />,
  );
}

test('a failure shows the lines, the advice, the setting and a retry', () => {
  const html = outcome(['starting', 'Error: listen EADDRINUSE: address already in use :::3000', '    at Server']);
  expect(html).toContain('The app ended 5 times. No release was live before.');
  expect(html).toContain('Port 3000 is in use.');
  expect(html).toContain('aria-label="Failing lines"');
  expect(html).toContain('href="#L2"');
  expect(html).toMatch(/href="\/acme\/apps\/shop\/settings\/runtime\?environment=env_1"[^>]*>Open runtime settings/);
  expect(html).toContain('Jump to error');
  expect(html).toContain('Retry');
});

test('the code of a failure decides the page, before the log does', () => {
  const html = outcome(["KeyError: 'DATABASE_URL'"], { failureCode: 'build.disk_full' });
  expect(html).toContain('Open server');
  expect(html).not.toContain('Add variable');
});

test('a failure without a log offers a retry, and no error to jump to', () => {
  const html = outcome([], { failureCode: 'build.network_failed' });
  expect(html).toContain('Retry');
  expect(html).not.toContain('Jump to error');
  expect(html).not.toContain('Failing lines');
});

test('the app’s page says why the newest deployment failed, in the same words', () => {
  const html = page(<LastFailure deployment={failed as unknown as DeploymentSummary} />);
  expect(html).toContain('Deployment #3 failed');
  expect(html).toContain('The app ended 5 times. No release was live before.');
  expect(html).toContain(`href="/acme/deployments/${DEPLOYMENT}"`);
  expect(page(<LastFailure deployment={undefined} />)).not.toContain('failed');
});

test('a build that waits names the builds ahead', () => {
  const ahead = [{ deploymentId: DEPLOYMENT, appName: 'cra', number: 2 }];
  const note = (aheadCount: number) =>
    page(<WaitingNote waiting={{ reason: 'build_slot', sentence: '', queue: { aheadCount, ahead } }} />);
  expect(note(1)).toContain('Queued · 1 build ahead: ');
  expect(note(1)).toMatch(/href="\/acme\/deployments\/dep_0+"[^>]*>cra #2/);
  expect(note(3)).toContain(' and 2 more');
});
