// Tests that secrets of an app, which logs them, are nowhere on a real server except with that app.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AgentDrill, startAgentDrill } from '../secrets/agent-drill.ts';
import { search } from '../secrets/search.ts';

let drill: AgentDrill;
beforeAll(async () => {
  drill = await startAgentDrill();
}, 240_000);
afterAll(() => drill.stop());

test('no planted secret is in a file of the server, its spool, its logs, its state, an argument or a table', async () => {
  const places = await drill.collect();
  for (const part of [
    'agent/state/',
    'agent/logs/apps/',
    'agent/spool/',
    'agent/instances/',
    'cmdline',
    'log of the build',
    'log of the deployment',
  ]) {
    const found = places.filter(({ name, bytes }) => name.includes(part) && bytes.length > 0);
    expect(found.length, part).toBeGreaterThan(0);
  }
  expect(search(places, drill.planted)).toEqual([]);
});

test('a leak planted in the packed logs of apps is found', async () => {
  const leaked = drill.planted[5];
  if (leaked === undefined) throw new Error('nothing is planted');
  const folder = join(drill.agentFolder, 'logs/apps/leak');
  mkdirSync(folder);
  const line = `token ${Buffer.from(leaked.value).toString('base64')}\n`;
  writeFileSync(join(folder, '0000000001.log.zst'), zstdCompressSync(line));
  const findings = search(await drill.collect(), drill.planted);
  expect(findings.map(({ place, secret }) => [place, secret])).toContainEqual([
    'file: agent/logs/apps/leak/0000000001.log.zst, unpacked',
    leaked.name,
  ]);
});
