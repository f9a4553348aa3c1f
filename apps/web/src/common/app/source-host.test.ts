import { expect, test } from 'vitest';
import { passwordHost, sourceHost } from './source-host.ts';

const at = (repositoryUrl: string) => ({ repositoryUrl, image: null });

test('a new password defaults to the host of the source', () => {
  expect(sourceHost('https', at('https://Git.Example:8443/shop.git'))).toBe('git.example:8443');
  expect(sourceHost('registry', { repositoryUrl: '', image: 'registry.test:5000/shop:1' })).toBe('registry.test:5000');
  expect(passwordHost('https', at('https://git.example/shop.git'), '')).toEqual({ host: 'git.example', warning: null });
  for (const url of ['', 'not an address', 'git@git.example:shop.git']) expect(sourceHost('https', at(url))).toBe('');
  expect(sourceHost('registry', at('https://git.example/shop.git'))).toBe('');
});

test('a replaced password defaults to the host of the one before, also when the source has moved', () => {
  const moved = passwordHost('https', at('https://attacker.example/shop.git'), 'git.example');
  expect(moved.host).toBe('git.example');
  expect(moved.warning).toMatch(/for git\.example, but the source is now at attacker\.example/);
  expect(passwordHost('https', at('https://git.example/next.git'), 'git.example').warning).toBeNull();
});
