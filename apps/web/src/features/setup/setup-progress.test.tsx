import { ToastProvider } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { ApiProvider, useTRPC } from '../../api/trpc.tsx';
import type { DashboardDomain, DashboardDomains } from '../../api/types.ts';
import { ConfirmIdentityProvider } from '../../common/identity/confirm-identity.tsx';
import { SetupProgress } from './setup-progress.tsx';

const host = 'panel.example.com';
const served: DashboardDomains = {
  reach: 'served',
  settingsUrl: 'https://203.0.113.5',
  publicUrl: 'https://203.0.113.5',
  suggestedHost: null,
  items: [],
};
const record = { name: 'panel', fullName: host, ttlSeconds: 300, serverName: 'local', isSet: false };
const domain: DashboardDomain = {
  id: 'dsd_1' as DashboardDomain['id'],
  host,
  url: `https://${host}`,
  isCurrent: false,
  answeredAt: null,
  dns: {
    host,
    zone: 'example.com',
    isApex: false,
    records: [{ ...record, type: 'A', value: '203.0.113.5' }],
    aliasRecord: null,
    state: 'not_resolving',
    found: null,
    foreignAddresses: [],
    missingAddresses: ['203.0.113.5'],
    cdn: null,
    serversWithoutAddress: [],
    arePortsChecked: false,
    checkedAt: null,
    nextCheckAt: new Date(0),
    ownership: { record: { ...record, type: 'TXT', value: 'token' }, provenAt: null, conflict: null },
  },
  certificate: { kind: 'public', certificate: null },
};

function Known({ domains, children }: { readonly domains: DashboardDomains; readonly children: ReactNode }) {
  useQueryClient().setQueryData(useTRPC().dashboardDomain.list.queryKey(), domains);
  return children;
}

/** Returns the text of the page. */
function pageOf(changes: Partial<DashboardDomains>): string {
  return renderToStaticMarkup(
    <ToastProvider>
      <ApiProvider organization="acme">
        <ConfirmIdentityProvider>
          <Known domains={{ ...served, ...changes }}>
            <SetupProgress organization="acme" />
          </Known>
        </ConfirmIdentityProvider>
      </ApiProvider>
    </ToastProvider>,
  );
}

test('where other machines reach the dashboard, it asks for a domain, which may wait', () => {
  const page = pageOf({});
  expect(page).toContain('Add a domain for the dashboard');
  expect(page).toContain('Do it later');
  expect(pageOf({ suggestedHost: host })).toContain(`value="${host}"`);
});

test('where no domain can lead here, the step is skipped with its reason', () => {
  for (const [reach, reason] of [
    ['local', 'This dashboard is reachable only from this machine.'],
    ['reverse_proxy', 'Your reverse proxy serves the dashboard.'],
  ] as const) {
    const page = pageOf({ reach });
    expect(page).toContain(reason);
    expect(page).toContain('Open the dashboard');
    expect(page).not.toContain('Do it later');
  }
});

test('a new domain shows its record, and what comes next', () => {
  const page = pageOf({ items: [domain] });
  expect(page).toContain('Copy value 203.0.113.5');
  expect(page).toContain(`${host} has no address yet.`);
  expect(page).toContain('Fairlead orders it once the records point to this server.');
});

test('a failed order says why, and is repeated by a button', () => {
  const failure = { code: 'certificate.rate_limited', message: 'Too many orders.', failedAt: new Date(0) };
  const certificate = { ...empty, state: 'failed' as const, failure };
  const dns = { ...domain.dns, state: 'ready' as const };
  const page = pageOf({ items: [{ ...domain, dns, certificate: { kind: 'public', certificate } }] });
  expect(page).toContain('Too many orders.');
  expect(page).toContain('Order certificate');
  const off = pageOf({ items: [{ ...domain, dns, certificate: { kind: 'off', certificate: null } }] });
  expect(off).toContain('acme.directory_url is empty');
});

test('a domain that has answered is where the dashboard opens', () => {
  const page = pageOf({ items: [{ ...domain, isCurrent: true, answeredAt: new Date(0) }] });
  expect(page).toContain(`href="https://${host}/acme"`);
});

const empty = {
  id: 'crt_1' as never,
  host,
  issuer: null,
  notAfter: null,
  renewAt: null,
  step: null,
  nextAttemptAt: null,
};
