import { describe, expect, test } from 'vitest';
import { agentBaseUrl, readEnv, trustedOrigins, trustedProxies } from './env.ts';

const complete = {
  DATABASE_URL: 'postgresql://fairlead@127.0.0.1:24432/fairlead',
  FAIRLEAD_INTERNAL_TOKEN_FILE: '/data/internal.token',
  FAIRLEAD_AUTH_SECRET_FILE: '/data/auth.secret',
  FAIRLEAD_MASTER_KEY_FILE: '/data/master.key',
  FAIRLEAD_LOG_STORE_DIR: '/data/logs',
};

test('the defaults suit a single machine', () => {
  const env = readEnv(complete);
  expect(env.FAIRLEAD_PUBLIC_URL).toBe('http://localhost:4400');
  expect(env.FAIRLEAD_HTTPS_PORT).toBe(4443);
});

test('trusted proxies are addresses or networks, and the default is none', () => {
  expect(readEnv(complete).FAIRLEAD_TRUSTED_PROXIES).toEqual([]);
  const listed = { ...complete, FAIRLEAD_TRUSTED_PROXIES: '10.0.0.0/8, ::1 ,' };
  expect(readEnv(listed).FAIRLEAD_TRUSTED_PROXIES).toEqual(['10.0.0.0/8', '::1']);
  expect(() => readEnv({ ...complete, FAIRLEAD_TRUSTED_PROXIES: 'proxy' })).toThrow(/FAIRLEAD_TRUSTED_PROXIES/);
});

test('the header of the local agent’s proxy is trusted as soon as there is its socket', () => {
  expect(trustedProxies(readEnv(complete))).toEqual([]);
  const env = { ...complete, FAIRLEAD_CONTROL_SOCKET: '/data/control/web.sock' };
  expect(trustedProxies(readEnv(env))).toHaveLength(1);
  expect(trustedProxies(readEnv({ ...env, FAIRLEAD_TRUSTED_PROXIES: '10.0.0.0/8' }))).toContain('10.0.0.0/8');
});

test('every problem is named at once, and no value is shown', () => {
  const broken = { ...complete, DATABASE_URL: 'mysql://secret@host/x', FAIRLEAD_LOG_STORE_DIR: '' };
  expect(() => readEnv(broken)).toThrow(/DATABASE_URL.*FAIRLEAD_LOG_STORE_DIR/);
  expect(() => readEnv(broken)).not.toThrow(/secret/);
});

test('a public URL is https, or loopback', () => {
  for (const url of [
    'https://panel.example.com',
    'http://127.0.0.1:4400',
    'http://[::1]:4400',
    'http://fairlead.localhost:4400',
  ])
    expect(readEnv({ ...complete, FAIRLEAD_PUBLIC_URL: url, FAIRLEAD_AGENT_URL: url }).FAIRLEAD_PUBLIC_URL).toBe(url);
  for (const url of ['http://panel.example.com', 'http://10.0.0.1:4400', 'http://localhost.example.com']) {
    expect(() => readEnv({ ...complete, FAIRLEAD_PUBLIC_URL: url })).toThrow(
      /FAIRLEAD_PUBLIC_URL must be an https URL/,
    );
    expect(() => readEnv({ ...complete, FAIRLEAD_AGENT_URL: url })).toThrow(/FAIRLEAD_AGENT_URL must be an https URL/);
  }
});

describe('trusted origins', () => {
  test('loopback is trusted under all its names, with its own port', () => {
    const env = readEnv(complete);
    expect(trustedOrigins(env)).toEqual([
      'http://localhost:4400',
      'http://127.0.0.1:4400',
      'http://[::1]:4400',
      'https://fairlead.localhost:4443',
    ]);
  });

  test('a public URL is the only trusted origin without a host on the local proxy', () => {
    const env = readEnv({
      ...complete,
      FAIRLEAD_PUBLIC_URL: 'https://fairlead.example.com/',
      FAIRLEAD_CONTROL_HOST: '',
    });
    expect(trustedOrigins(env)).toEqual(['https://fairlead.example.com']);
  });
});

describe('agent URL', () => {
  test('behind https it is the public URL', () => {
    expect(agentBaseUrl(readEnv({ ...complete, FAIRLEAD_PUBLIC_URL: 'https://fairlead.example.com' }))).toBe(
      'https://fairlead.example.com',
    );
  });

  test('on one machine it is the gateway, and a setting overrules both', () => {
    expect(agentBaseUrl(readEnv(complete))).toBe('http://127.0.0.1:4401');
    expect(agentBaseUrl(readEnv({ ...complete, FAIRLEAD_AGENT_URL: 'https://agents.example.com/' }))).toBe(
      'https://agents.example.com',
    );
  });
});

test('an invalid URL of the mail server is named but not shown, because it is a secret', () => {
  const wrong = { ...complete, FAIRLEAD_SMTP_URL: 'http://fairlead:hunter2@mail.example.com' };
  expect(() => readEnv(wrong)).toThrow(/FAIRLEAD_SMTP_URL/);
  expect(() => readEnv(wrong)).not.toThrow(/hunter2/);
  expect(readEnv({ ...complete, FAIRLEAD_SMTP_URL: 'smtps://mail.example.com' }).FAIRLEAD_MAIL_FROM).toBeUndefined();
});
