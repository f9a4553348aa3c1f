// Judges the results of attacks. An attack that neither reached its aim nor was stopped counts as one that could not
// run.
import type { Proof } from './attack.ts';
import type { Arrival } from './targets.ts';

/** Attempt in the input format of attack.py. */
export interface Attempt {
  readonly id: string;
  readonly technique: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Result of one attempt in the output format of attack.py. */
export interface Answer {
  readonly id?: string;
  readonly got?: string;
  readonly stopped?: string;
  readonly broken?: string;
}

export interface Verdict {
  readonly verdict: 'succeeded' | 'stopped' | 'could not run';
  readonly detail: string;
}

export interface Evidence {
  /** Tokens by the names of targets. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly arrivals: readonly Arrival[];
  /** Nonce by which a target recognizes this attempt, if it sends one. */
  readonly nonce: string;
}

export function judge(proof: Proof, answer: Answer, evidence: Evidence): Verdict {
  if (answer.broken !== undefined) return { verdict: 'could not run', detail: answer.broken };
  const found = prove(proof, answer, evidence);
  if (found !== undefined) return { verdict: 'succeeded', detail: found };
  if (answer.stopped !== undefined) return { verdict: 'stopped', detail: answer.stopped };
  if (answer.got === undefined) return { verdict: 'could not run', detail: 'no word of the attack' };
  return { verdict: 'stopped', detail: `got something else: ${brief(answer.got)}` };
}

/** Returns the evidence of success; undefined if there is none. */
function prove(proof: Proof, { got }: Answer, { tokens, arrivals, nonce }: Evidence): string | undefined {
  if ('floods' in proof) {
    const open = Math.max(0, ...arrivals.filter(({ token }) => token === tokens[proof.floods]).map((one) => one.open));
    return open > proof.above ? `${open} connections at once` : undefined;
  }
  if ('arrivesAt' in proof) {
    const found = arrivals.find(
      ({ token, text, from }) =>
        token === tokens[proof.arrivesAt] && text.includes(nonce) && (proof.as === undefined || from === proof.as),
    );
    return found === undefined ? undefined : `arrived from ${found.from}`;
  }
  if (got === undefined) return undefined;
  if ('token' in proof) return got.includes(required(tokens, proof.token)) ? `reached ${proof.token}` : undefined;
  return proof.matches.test(got) ? brief(got) : undefined;
}

function required(tokens: Readonly<Record<string, string>>, name: string): string {
  const token = tokens[name];
  if (token === undefined) throw new Error(`no target is called ${name}`);
  return token;
}

function brief(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
