// Lines of a pasted .env: the kind of each, and what saving them changes. Pure; values never leave the browser before
// they are saved.
import { variableNameProblem, variableValueProblem } from '@fairlead/core/config/rules';
import { type EnvText, nameProblem, parseEnvText } from '@fairlead/core/secret/rules';
import { looksSecret } from '@fairlead/core/variable/rules';

export type Kind = 'plain' | 'secret';

export interface KnownVariables {
  /** Values of plain variables by name. */
  readonly plain: ReadonlyMap<string, string>;
  readonly secrets: ReadonlySet<string>;
}

export type LineEffect =
  | 'new'
  | 'changed'
  | 'unchanged'
  /** A secret, whose old value can't be compared. */
  | 'replaced'
  /** A plain variable that stops being plain. */
  | 'becomes secret';

export interface EnvVariable {
  readonly name: string;
  readonly value: string;
  readonly line: number;
  readonly kind: Kind;
  /** True if it must be a secret: one of this name exists. */
  readonly held: boolean;
  readonly effect: LineEffect;
  /** Sentence about a name or value that its kind does not allow; null for a valid one. */
  readonly problem: string | null;
}

export interface EnvLines {
  readonly variables: readonly EnvVariable[];
  readonly problems: EnvText['problems'];
}

/** `chosen` has the kinds that the person chose, by name. */
export function readEnvLines(text: string, known: KnownVariables, chosen: ReadonlyMap<string, Kind>): EnvLines {
  const { entries, problems } = parseEnvText(text, variableNameProblem);
  return {
    problems,
    variables: entries.map(({ name, value, line }) => {
      const held = known.secrets.has(name);
      const kind = held ? 'secret' : (chosen.get(name) ?? kindOf(name, value));
      const problem = kind === 'secret' ? nameProblem(name) : variableValueProblem(value);
      return { name, value, line, kind, held, effect: effectOf(name, value, kind, known), problem };
    }),
  };
}

/** A secret's name has capital letters only, so that other names are plain whatever they look like. */
export function kindOf(name: string, value: string): Kind {
  return looksSecret(name, value) && nameProblem(name) === null ? 'secret' : 'plain';
}

function effectOf(name: string, value: string, kind: Kind, { plain, secrets }: KnownVariables): LineEffect {
  if (secrets.has(name)) return 'replaced';
  const former = plain.get(name);
  if (former === undefined) return 'new';
  if (kind === 'secret') return 'becomes secret';
  return former === value ? 'unchanged' : 'changed';
}

/** Returns only the parts that are not zero, such as "2 added, 1 changed". */
export function summaryOf(result: Readonly<Record<'added' | 'changed' | 'unchanged', readonly string[]>>): string {
  const parts = (['added', 'changed', 'unchanged'] as const).filter((kind) => result[kind].length > 0);
  return parts.length === 0 ? 'Nothing changed' : parts.map((kind) => `${result[kind].length} ${kind}`).join(', ');
}
