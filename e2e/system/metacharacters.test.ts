// Every text that a person can type, full of what shells, option parsers and terminals read as more than text: it is refused
// in a sentence, or it arrives as it was typed and runs nothing, on a real server. A word that did run would leave a file.
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
  // Open to everybody, so that whoever runs a word can leave its trace.
  mkdirSync(join(folder, 't'));
  chmodSync(join(folder, 't'), 0o777);
});
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true });
});

/** `IFS` stands for the blank that many fields refuse. */
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

const base = { name: 'x', repositoryUrl: 'https://git.example.test/x.git', serverId: 'srv_00000000000000000000' };
const accepted = {
  name: (word: string) => createAppInputSchema.safeParse({ ...base, name: word }),
  branch: (word: string) => createAppInputSchema.safeParse({ ...base, branch: word }),
  rootFolder: (word: string) => createAppInputSchema.safeParse({ ...base, rootFolder: word }),
  healthPath: (word: string) => createAppInputSchema.safeParse({ ...base, healthPath: `/${word}` }),
  command: (word: string) => createAppInputSchema.safeParse({ ...base, command: ['node', 'server.js', word] }),
  repositoryUrl: (word: string) =>
    createAppInputSchema.safeParse({ ...base, repositoryUrl: `https://git.example.test/${word}.git` }),
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

function takenBy(field: Field): string[] {
  return words().filter((word) => {
    const parsed = accepted[field](word);
    if (!parsed.success) {
      for (const { message } of parsed.error.issues) expect(message, `${field} of ${word}`).toMatch(/^[A-Z].{10,}\.$/s);
    }
    return parsed.success;
  });
}

test('what can never be part of a branch, a folder, an address, a host or a variable is refused in a sentence', () => {
  for (const field of ['branch', 'rootFolder', 'repositoryUrl', 'domain', 'secretName'] as const) {
    expect(takenBy(field), field).toEqual([]);
  }
});

test('what a field takes arrives as it was typed, and nothing runs it', { timeout: 300_000 }, async () => {
  const taken = {
    name: takenBy('name'),
    healthPath: takenBy('healthPath'),
    command: takenBy('command'),
    secret: takenBy('secret'),
  };
  // A field that takes none of them would prove nothing about what it takes.
  for (const [field, list] of Object.entries(taken)) expect(list.length, field).toBeGreaterThan(2);
  const rounds = Math.max(...Object.values(taken).map((list) => list.length));
  const at = (list: readonly string[], round: number) => list[round % list.length] ?? '';

  const traces: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const slug = `meta-${round}`;
    traces.push(slug);
    traces.sort();
    // Each once: no two apps have one name.
    const name = taken.name[round] ?? slug;
    const word = at(taken.command, round);
    const value = at(taken.secret, round);
    const repository = await system.repositories.create(slug, {});
    await repository.commit(`Say ${at(words(), round)}`, {
      'package.json': JSON.stringify({
        type: 'module',
        scripts: { build: 'node build.js', start: 'node server.js' },
      }),
      // The trace that shows that a word could have left one.
      'build.js': `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(join(folder, 't', slug))}, '');\n`,
      'server.js': `import { createServer } from 'node:http';
const { argv, env } = process;
const told = JSON.stringify({ word: argv[2], value: env.WORD });
createServer((request, response) => response.end(told)).listen(Number(env.PORT));
`,
      // Words are names of files, too.
      [`-${round}`]: '',
      [`--checkpoint-action=exec=touch ${folder.replaceAll('/', '_')}`]: '',
      [words()[round % words().length]?.replaceAll('/', '_') ?? '']: '',
    });
    const input = createAppInputSchema.parse({
      name,
      repositoryUrl: repository.url,
      healthPath: `/${at(taken.healthPath, round)}`,
      command: ['node', 'server.js', word],
      serverId: await system.serverId(),
      host: `${slug}.localhost`,
      deployNow: false,
    });
    const { id: appId } = await system.product.verbs.createApp(input, { controlHost: '', publicHost: '' });
    await system.setSecrets(appId, [{ name: 'WORD', value, delivery: 'environment' }]);
    const deployment = await system.deploy(appId);
    expect(deployment, `round ${round}`).toMatchObject({ state: 'live', failureMessage: null });
    const { body } = await system.get(slug);
    expect(JSON.parse(body)).toEqual({ word, value });
    // Only what the builds themselves left: a word's trace would lie beside it.
    expect(readdirSync(join(folder, 't')).sort(), `round ${round}`).toEqual(traces);
  }
  // What went live last is one more version.
  await expect.poll(async () => (await system.server()).inSync, { timeout: 20_000 }).toBe(true);
});
