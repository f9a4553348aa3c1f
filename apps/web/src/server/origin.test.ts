import { expect, test } from 'vitest';
import { isForPrograms, mayChange } from './origin.ts';
import { contentSecurityPolicy } from './security-headers.ts';

const trusted = ['https://fairlead.example.com'];

test.each([
  ['GET', null, true],
  ['GET', 'https://evil.example', true],
  ['POST', 'https://fairlead.example.com', true],
  ['POST', 'https://fairlead.example.com.evil.example', false],
  ['POST', 'http://fairlead.example.com', false],
  ['POST', 'null', false],
  ['POST', null, false],
  ['DELETE', 'https://evil.example', false],
])('%s from %s may change: %s', (method, origin, allowed) => expect(mayChange(method, origin, trusted)).toBe(allowed));

test('scripts run by nonce, nobody may frame a page, and only development evaluates strings', () => {
  const policy = contentSecurityPolicy({ nonce: 'abc', development: false });
  expect(policy).toContain("script-src 'self' 'nonce-abc' 'strict-dynamic';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe-eval');
  expect(contentSecurityPolicy({ nonce: 'abc', development: true })).toContain('unsafe-eval');
});

test('only the API for programs, which takes no cookie, is open to requests without an origin', () => {
  expect(isForPrograms('/api/v1/app/list')).toBe(true);
  for (const path of ['/api/trpc/app.create', '/api/auth/sign-in/email', '/api/v1', '/api/v10/x', '/x/api/v1/']) {
    expect(isForPrograms(path), path).toBe(false);
  }
});
