import { expect, test } from 'vitest';
import { looksSecret } from './rules.ts';

test('names of keys, tokens, secrets, passwords and of the database are secrets; published names are not', () => {
  for (const name of ['API_KEY', 'KEY', 'GITHUB_TOKEN', 'JWT_SECRET', 'DB_PASSWORD_2', 'PASSWORD', 'DATABASE_URL']) {
    expect(looksSecret(name), name).toBe(true);
  }
  expect(looksSecret('npm_token')).toBe(true);
  for (const name of [
    'LOG_LEVEL',
    'MONKEY',
    'KEYBOARD',
    'TOKEN_TTL',
    'BASE_URL',
    'VITE_MAP_KEY',
    'NEXT_PUBLIC_API_KEY',
  ]) {
    expect(looksSecret(name), name).toBe(false);
  }
});

test('a URL with a password is a secret, whatever its name is', () => {
  expect(looksSecret('CACHE', 'redis://:hunter2@cache.example.test:6379')).toBe(true);
  expect(looksSecret('QUEUE', 'amqp://shop:hunter2@queue.example.test')).toBe(true);
  for (const value of ['https://api.example.test/a:b@c', 'http://localhost:3000', 'mailto:ada@example.test']) {
    expect(looksSecret('HOME_PAGE', value), value).toBe(false);
  }
});
