// Document of a saved plan, as a repository can hold it. Pure.
import type { SavedPlan } from '../../api/types.ts';

/** File name of a plan in a repository. */
export const PLAN_FILE = 'fairlead.bench.json';

export function documentOf({ name, plan }: Pick<SavedPlan, 'name' | 'plan'>): string {
  return `${JSON.stringify({ format: 'fairlead-plan-1', name, plan }, null, 2)}\n`;
}

export type ParsedDocument = { readonly document: unknown } | { readonly problem: string };

/** Reads the text of a file; the API checks its content. */
export function parseDocument(text: string): ParsedDocument {
  try {
    return { document: JSON.parse(text) };
  } catch (error) {
    return { problem: `The file isn't valid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export interface FieldProblem {
  /** Path in the document, such as `plan.concurrency[1]`. */
  readonly path: string;
  readonly message: string;
}

/** Turns the field errors of an upload into paths of the document. */
export function problemsOf(fields: Readonly<Record<string, string>>): FieldProblem[] {
  return Object.entries(fields)
    .filter(([name]) => name === 'document' || name.startsWith('document.'))
    .map(([name, message]) => ({ path: pathOf(name.split('.').slice(1)), message }));
}

function pathOf(parts: readonly string[]): string {
  const path = parts.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('');
  return path === '' ? 'document' : path.replace(/^\./, '');
}
