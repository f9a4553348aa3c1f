import { expect, test } from 'vitest';
import { deployKeyPage, freeName, suggestHost, suggestImageName, suggestName } from './app-form.ts';

test.each([
  ['https://github.com/acme/shop.git', 'shop'],
  ['https://git.example.com/shop', 'shop'],
  ['git@github.com:acme/shop.git', 'shop'],
  ['ssh://git@git.example.com:2222/acme/shop', 'shop'],
  ['https://github.com', ''],
  ['shop', ''],
])('%s suggests the name %j', (url, name) => expect(suggestName(url)).toBe(name));

test.each([
  ['registry.example.com:5000/team/shop:2', 'shop'],
  ['nginx', 'nginx'],
  ['ghcr.io/acme/api@sha256:0123', 'api'],
  ['', ''],
])('the image %s suggests %j', (image, name) => expect(suggestImageName(image)).toBe(name));

test.each([
  ['Shop – Café', 'shop-cafe.localhost'],
  ['日本', ''],
])('%s is found under %j', (name, host) => expect(suggestHost(name)).toBe(host));

test('a name that is taken gets the next free number', () => {
  expect(freeName('hello-node', new Set(['hello']))).toBe('hello-node');
  expect(freeName('hello-node', new Set(['hello-node', 'hello-node-2', 'hello-node-4']))).toBe('hello-node-3');
});

test('a deploy key is added on the host of the repository', () => {
  expect(deployKeyPage('ssh://git@github.com/acme/shop.git')).toEqual({
    name: 'GitHub',
    url: 'https://github.com/acme/shop/settings/keys/new',
  });
  expect(deployKeyPage('ssh://git@gitlab.com/acme/group/shop')).toMatchObject({ name: 'GitLab' });
  expect(deployKeyPage('ssh://git@git.example.com:2222/shop.git')).toEqual({ name: 'git.example.com', url: null });
});
