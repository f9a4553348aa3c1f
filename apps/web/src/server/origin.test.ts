import { expect, test } from 'vitest';
import { isTokenApi, isTrustedChange } from './origin.ts';
import { contentSecurityPolicy } from './security-headers.ts';

const trusted = ['https://fairlead.example.com'];

test.each([
  ['GET', null, null, true],
  ['GET', 'https://evil.example', 'cross-site', true],
  ['POST', 'https://fairlead.example.com', null, true],
  ['POST', 'https://fairlead.example.com', 'same-origin', true],
  ['POST', 'https://fairlead.example.com', 'same-site', false],
  ['POST', 'https://fairlead.example.com', 'cross-site', false],
  ['POST', 'https://fairlead.example.com', 'none', false],
  ['POST', 'https://fairlead.example.com.evil.example', null, false],
  ['POST', 'http://fairlead.example.com', null, false],
  ['POST', 'null', null, false],
  ['POST', null, null, false],
  ['DELETE', 'https://evil.example', null, false],
])('%s from %s (%s) may change: %s', (method, origin, site, allowed) =>
  expect(isTrustedChange({ method, origin, site }, trusted)).toBe(allowed),
);

test('scripts run by nonce, nobody may frame a page, and only development evaluates strings', () => {
  const policy = contentSecurityPolicy({ nonce: 'abc', development: false });
  expect(policy).toContain("script-src 'self' 'nonce-abc' 'strict-dynamic';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe-eval');
  expect(contentSecurityPolicy({ nonce: 'abc', development: true })).toContain('unsafe-eval');
});

test('only the API for programs, which accepts no cookie, is open to requests without an origin', () => {
  expect(isTokenApi('/api/v1/app/list')).toBe(true);
  for (const path of ['/api/trpc/app.create', '/api/auth/sign-in/email', '/api/v1', '/api/v10/x', '/x/api/v1/']) {
    expect(isTokenApi(path), path).toBe(false);
  }
});
