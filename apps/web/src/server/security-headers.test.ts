import { expect, test } from 'vitest';
import { contentSecurityPolicy, isReportPath, securityHeaders } from './security-headers.ts';

test('a dashboard on https sends HSTS; one on this machine does not', () => {
  expect(securityHeaders('https://panel.example.com')).toMatchObject({
    'strict-transport-security': 'max-age=31536000',
    'x-frame-options': 'DENY',
  });
  const local = securityHeaders('http://localhost:4400');
  expect(local).toMatchObject({ 'x-content-type-options': 'nosniff' });
  expect(local).not.toHaveProperty('strict-transport-security');
});

test('scripts run by the nonce of their page only', () => {
  const policy = contentSecurityPolicy({ nonce: 'abc', development: false });
  expect(policy).toContain("default-src 'none'; script-src 'self' 'nonce-abc' 'strict-dynamic';");
  expect(policy).not.toContain('unsafe-eval');
});

test('forms stay on the dashboard, but on the page that posts a manifest to GitHub', () => {
  const options = { nonce: 'abc', development: false };
  expect(contentSecurityPolicy(options)).toContain("form-action 'self';");
  expect(contentSecurityPolicy({ ...options, postsAway: true })).toContain("form-action 'self' https: ");
});

test('only the parts of a report, which have no script, go without this policy', () => {
  expect(['/reports/rpt_1', '/reports/rpt_1/rows.json', '/reports/rpt_1/image.png'].map(isReportPath)).toEqual([
    true,
    true,
    true,
  ]);
  const others = ['/reports', '/reports/', '/reports/rpt_1/', '/reports/rpt_1/x', '/acme/reports/rpt_1', '/reportsx/a'];
  expect(others.filter(isReportPath)).toEqual([]);
});
