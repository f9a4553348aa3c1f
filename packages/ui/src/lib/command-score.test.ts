import { expect, test } from 'vitest';
import { commandScore, rankCommands } from './command-score.ts';

const titles = (
  commands: readonly { readonly title: string; readonly keywords?: readonly string[] }[],
  search: string,
) => rankCommands(commands, search).map(({ title }) => title);

test('an exact match comes first, then prefixes, then words, then letters in order', () => {
  const apps = [{ title: 'axum-hello' }, { title: 'hello-2' }, { title: 'hillside-elk-loop' }, { title: 'hello' }];
  expect(titles(apps, 'hello')).toEqual(['hello', 'hello-2', 'axum-hello']);
  expect(titles(apps, 'hlo')).toEqual(['axum-hello', 'hello-2', 'hello']);
});

test('among equal matches, pages precede actions', () => {
  const action = { title: 'Deploy an app…', isAction: true };
  const page = { title: 'Deployments' };
  expect(rankCommands([action, page], 'deploy')).toEqual([page, action]);
  expect(rankCommands([action, page], 'deploy an')).toEqual([action]);
});

test('synonyms are found, after the titles', () => {
  const pages = [{ title: 'Audit log', keywords: ['history', 'events'] }, { title: 'Events' }];
  expect(titles(pages, 'events')).toEqual(['Events', 'Audit log']);
  expect(titles(pages, 'hist')).toEqual(['Audit log']);
  expect(titles(pages, 'Audit history')).toEqual(['Audit log']);
});

test.each(['witch', 'th', 'zzz', 'hell'])('what matches nothing is left out: %s', (search) => {
  expect(commandScore({ title: 'Switch to the dark theme' }, search)).toBe(search === 'th' ? 20 : 0);
});

test('everything matches an empty search, in its order', () => {
  expect(titles([{ title: 'b' }, { title: 'a' }], ' ')).toEqual(['b', 'a']);
});
