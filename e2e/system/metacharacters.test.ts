// Tests of shell, option-parser and terminal metacharacters in every text field, on a real server. A value is refused
// with a message, or arrives unchanged and runs nothing; an executed one would create a file.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAppInputSchema } from '@fairlead/core/app';
import { attachDomainInputSchema } from '@fairlead/core/domain';
import { updateSecretsInputSchema } from '@fairlead/core/secret';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { System } from './harness/system.ts';

let system: System;
let folder: string;

beforeAll(async () => {
  system = await System.start();
  folder = mkdtempSync(join(tmpdir(), 'fairlead-meta-'));
  chmodSync(folder, 0o711);
  // World-writable, so that any user's process could create the file.
  mkdirSync(join(folder, 't'));
  chmodSync(join(folder, 't'), 0o777);
});
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true });
});

/** `IFS` replaces the space that many fields refuse. */
function words(): string[] {
  const trace = (name: string) => join(folder, 't', name);
  return [
    `;touch ${trace('a')}`,
    `;touch\${IFS}${trace('b')};`,
    `$(touch ${trace('c')})`,
    `$(touch\${IFS}${trace('d')})`,
    `\`touch ${trace('e')}\``,
    `\`touch\${IFS}${trace('f')}\``,
    `|touch\${IFS}${trace('g')}`,
    `&touch\${IFS}${trace('h')}&`,
    `>${trace('i')}`,
    `<(touch\${IFS}${trace('j')})`,
    `'"';touch\${IFS}${trace('k')};'"`,
    `\ntouch ${trace('l')}\n`,
    `--upload-pack=touch\${IFS}${trace('m')}`,
    `-oProxyCommand=touch\${IFS}${trace('n')}`,
  ];
}

const base = { name: 'x', serverIds: ['srv_00000000000000000000'] };
const source = { kind: 'git', repositoryUrl: 'https://git.example.test/x.git' };
const parse = (changes: object) => createAppInputSchema.safeParse({ ...base, source, ...changes });
const accepted = {
  name: (word: string) => parse({ name: word }),
  branch: (word: string) => parse({ source: { ...source, branch: word } }),
  rootFolder: (word: string) => parse({ source: { ...source, rootFolder: word } }),
  healthPath: (word: string) => parse({ healthPath: `/${word}` }),
  command: (word: string) => parse({ command: ['node', 'server.js', word] }),
  repositoryUrl: (word: string) =>
    parse({ source: { ...source, repositoryUrl: `https://git.example.test/${word}.git` } }),
  secret: (word: string) =>
    updateSecretsInputSchema.safeParse({
      owner: { appId: 'app_00000000000000000000' },
      items: [{ name: 'WORD', value: word }],
    }),
  secretName: (word: string) =>
    updateSecretsInputSchema.safeParse({
      owner: { appId: 'app_00000000000000000000' },
      items: [{ name: word, value: 'x' }],
    }),
  domain: (word: string) =>
    attachDomainInputSchema.safeParse({ appId: 'app_00000000000000000000', host: `${word}.example.test` }),
} as const;
type Field = keyof typeof accepted;

function acceptedBy(field: Field): string[] {
  return words().filter((word) => {
    const parsed = accepted[field](word);
    if (!parsed.success) {
      for (const { message } of parsed.error.issues) expect(message, `${field} of ${word}`).toMatch(/^[A-Z].{10,}\.$/s);
    }
    return parsed.success;
  });
}

test('invalid characters in a branch, folder, address, host or variable are refused with a message', () => {
  for (const field of ['branch', 'rootFolder', 'repositoryUrl', 'domain', 'secretName'] as const) {
    expect(acceptedBy(field), field).toEqual([]);
  }
});

test('accepted values arrive unchanged, and nothing executes them', { timeout: 300_000 }, async () => {
  const taken = {
    name: acceptedBy('name'),
    healthPath: acceptedBy('healthPath'),
    command: acceptedBy('command'),
    secret: acceptedBy('secret'),
  };
  // A field that accepts no value would prove nothing.
  for (const [field, list] of Object.entries(taken)) expect(list.length, field).toBeGreaterThan(2);
  const rounds = Math.max(...Object.values(taken).map((list) => list.length));
  const at = (list: readonly string[], round: number) => list[round % list.length] ?? '';

  const traces: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const slug = `meta-${round}`;
    traces.push(slug);
    traces.sort();
    // Names are unique: no two apps have the same name.
    const name = taken.name[round] ?? slug;
    const word = at(taken.command, round);
    const value = at(taken.secret, round);
    const repository = await system.repositories.create(slug, {});
    await repository.commit(`Say ${at(words(), round)}`, {
      'package.json': JSON.stringify({
        type: 'module',
        scripts: { build: 'node build.js', start: 'node server.js' },
      }),
      // Proves that an executed value could create its file.
      'build.js': `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(join(folder, 't', slug))}, '');\n`,
      'server.js': `import { createServer } from 'node:http';
const { argv, env } = process;
const told = JSON.stringify({ word: argv[2], value: env.WORD });
createServer((request, response) => response.end(told)).listen(Number(env.PORT));
`,
      // Values are file names, too.
      [`-${round}`]: '',
      [`--checkpoint-action=exec=touch ${folder.replaceAll('/', '_')}`]: '',
      [words()[round % words().length]?.replaceAll('/', '_') ?? '']: '',
    });
    const { id: appId } = await system.product.verbs.createApp(
      {
        name,
        source: { kind: 'git', repositoryUrl: repository.url },
        healthPath: `/${at(taken.healthPath, round)}`,
        command: ['node', 'server.js', word],
        serverIds: [await system.serverId()],
        domain: { host: `${slug}.localhost` },
        firstDeploy: 'none',
      },
      { controlHost: '', publicHost: '' },
    );
    await system.setSecrets(appId, [{ name: 'WORD', value, delivery: 'environment' }]);
    const deployment = await system.deploy(appId);
    expect(deployment, `round ${round}`).toMatchObject({ state: 'live', failureMessage: null });
    const { body } = await system.get(slug);
    expect(JSON.parse(body)).toEqual({ word, value });
    // Only the builds' own files are there: an executed value would have added one.
    expect(readdirSync(join(folder, 't')).sort(), `round ${round}`).toEqual(traces);
  }
  // The last deployment creates one more version.
  await expect.poll(async () => (await system.server()).inSync, { timeout: 20_000 }).toBe(true);
});
