import { expect, test } from 'vitest';
import { securityText } from './security-text.ts';

test('security.txt names the contact and the expiry', () => {
  const text = securityText({
    contact: 'mailto:security@example.com',
    publicUrl: 'https://panel.example.com',
    now: new Date('2026-01-01T00:00:00Z'),
  });
  expect(text).toBe(
    'Contact: mailto:security@example.com\nExpires: 2026-01-31T00:00:00.000Z\n' +
      'Canonical: https://panel.example.com/.well-known/security.txt\n',
  );
});
