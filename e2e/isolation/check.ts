// Isolation check: creates the two networks, runs the drill in the server's, and compares the results with the attack
// table and the server's page.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from '../../tools/lib/command.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { AGENT_BINARY } from '../system/harness/assemble.ts';
import { type Attack, type Mode, REASON, SENTENCES, type Sentence } from './attack.ts';
import { ATTACKS } from './attacks.ts';
import type { InsideOptions } from './inside.ts';
import { HOSTS, openTestNetwork } from './namespaces.ts';
import type { ModeResult } from './server-drill.ts';

export interface CheckOptions {
  readonly modes: readonly { readonly mode: Mode; readonly attacks: readonly Attack[] }[];
  readonly note: (line: string) => void;
}

/** Not below /tmp: there apps would have no /tmp of their own. */
const SCRATCH = '/var/tmp';

export function attacksOf(mode: Mode, isShort: boolean): readonly Attack[] {
  return ATTACKS.filter(({ only, short }) => (only === undefined || only === mode) && (!isShort || short === true));
}

export async function checkIsolation({ modes, note }: CheckOptions): Promise<Partial<Record<Mode, ModeResult>>> {
  const folder = mkdtempSync(join(SCRATCH, 'fairlead-isolation-'));
  const world = await openTestNetwork();
  try {
    const [file, resolver] = [join(folder, 'options.json'), join(folder, 'resolv.conf')];
    const inside = modes.map(async ({ mode, attacks }) => ({
      mode,
      ids: attacks.map(({ id }) => id),
      args: await argsOf(mode),
    }));
    const options: InsideOptions = { modes: await Promise.all(inside), outside: world.outside };
    writeFileSync(file, JSON.stringify(options));
    writeFileSync(resolver, `nameserver ${HOSTS.resolver}\n`);
    // The server has a resolver of its own, which this machine does not see.
    const bind = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"', resolver];
    const script = [
      nodeOf(ROOT),
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, 'inside.ts'),
      file,
    ];
    const [program = '', ...args] = [...world.onServer, ...bind, ...script];
    const onOutput = (chunk: string) => {
      for (const line of chunk.trimEnd().split('\n')) note(line);
    };
    const { code, output } = await run(program, args, { onOutput, env: { TMPDIR: SCRATCH } });
    if (code !== 0) throw new Error(`the check did not come to its end:\n${output.slice(-4000)}`);
    return JSON.parse(readFileSync(`${file}.result`, 'utf8')) as Partial<Record<Mode, ModeResult>>;
  } finally {
    await world.close();
    rmSync(folder, { recursive: true });
  }
}

/** An agent that runs as root chooses the full mode by itself. */
async function argsOf(mode: Mode): Promise<readonly string[]> {
  if (mode === 'full') return [];
  const { output } = await run(AGENT_BINARY, ['run', '--help']);
  return output.includes('--network') ? ['--network', 'shared'] : [];
}

/** Returns a sentence for each deviation from the table; empty if there is none. */
export function problemsOf(mode: Mode, attacks: readonly Attack[], { outcomes, allowed }: ModeResult): string[] {
  const problems: string[] = [];
  for (const { id, attack, control } of outcomes) {
    const row = attacks.find((each) => each.id === id);
    const isOpen = mode === 'weaker' && row?.weaker !== 'closed';
    if (control.verdict !== 'succeeded') problems.push(`${id}: its control ${control.verdict}: ${control.detail}`);
    if (attack.verdict === 'could not run') problems.push(`${id}: could not run: ${attack.detail}`);
    else if (attack.verdict === 'succeeded' && !isOpen) problems.push(`${id}: succeeded: ${attack.detail}`);
    else if (attack.verdict === 'stopped' && isOpen)
      problems.push(`${id}: the page says that it succeeds, but it was stopped: ${attack.detail}`);
  }
  for (const { id, attack } of allowed)
    if (attack.verdict !== 'succeeded') problems.push(`${id}: does not work: ${attack.detail}`);
  return problems;
}

/** Compares the sentences on the server's page in both modes with those that rows name. */
export function problemsOfSentences(full: readonly string[], weaker: readonly string[]): string[] {
  const problems: string[] = [];
  const named = new Set(ATTACKS.flatMap(({ weaker }) => (weaker === 'closed' ? [] : [weaker])));
  for (const key of Object.keys(SENTENCES) as Sentence[]) {
    const shown = weaker.filter((sentence) => SENTENCES[key].test(sentence)).length;
    if (!named.has(key)) problems.push(`no attack covers the sentence ${key}`);
    if (shown !== 1) problems.push(`the weaker mode's page shows the sentence ${key} ${shown} times`);
    if (full.some((sentence) => SENTENCES[key].test(sentence))) problems.push(`the full mode's page shows ${key}`);
  }
  for (const sentence of weaker.filter((each) => !full.includes(each) && !REASON.test(each))) {
    if (!Object.values(SENTENCES).some((known) => known.test(sentence)))
      problems.push(`no attack covers what the weaker mode's page says: ${sentence}`);
  }
  return problems;
}
