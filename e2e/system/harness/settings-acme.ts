// Part of settings.test.ts: effects of the settings of the certificate authority.
import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import type { Dashboard } from '../../../tools/lib/dashboard-client.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import type { AcmeDirectory } from './acme-directory.ts';
import { effect, ORGANIZATION } from './settings.ts';

export interface AcmeFixtures {
  readonly acme: () => AcmeDirectory;
  readonly dashboard: () => Dashboard;
  /** Key of the external account binding. */
  readonly macKey: Buffer;
}

/** Declares the tests; the fixtures are called when they run. */
export function acmeEffects({ acme, dashboard, macKey }: AcmeFixtures): void {
  effect(
    ['FAIRLEAD_ACME_DIRECTORY_URL', 'FAIRLEAD_ACME_CA_FILE', 'FAIRLEAD_ACME_EMAIL'],
    'a public domain is ordered from the authority of the settings',
    async () => {
      const { id: appId } = await dashboard().query<{ id: string }>('app.get', ORGANIZATION, { slug: 'hello' });
      await dashboard().call('domain.attach', { appId, host: 'shop.example.test' }, ORGANIZATION);
      const { payloads } = acme();
      const ordered = () => payloads.some((payload) => payload.includes('shop.example.test')) || undefined;
      await waitFor(ordered, { what: 'an order', timeoutMs: 60_000 });
      expect(payloads.some((payload) => payload.includes('mailto:certificates@example.test'))).toBe(true);
    },
  );

  effect(
    ['FAIRLEAD_ACME_EAB_KEY_ID', 'FAIRLEAD_ACME_EAB_HMAC_KEY_FILE'],
    'the account is bound to the key of the settings',
    async () => {
      const payload = acme().payloads.find((each) => each.includes('externalAccountBinding')) ?? '{}';
      const { externalAccountBinding: bound } = JSON.parse(payload) as {
        externalAccountBinding: Record<'protected' | 'payload' | 'signature', string>;
      };
      const header = JSON.parse(Buffer.from(bound.protected, 'base64url').toString('utf8'));
      expect(header).toMatchObject({ alg: 'HS256', kid: 'a-key-id' });
      const mac = createHmac('sha256', macKey).update(`${bound.protected}.${bound.payload}`).digest('base64url');
      expect(bound.signature).toBe(mac);
    },
  );
}
