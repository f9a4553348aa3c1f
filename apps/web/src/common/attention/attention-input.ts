// Reads the filter of a list that shows one group of the overview from its URL. Pure and without zod, because browsers load
// it with every list.
import { attentionKinds } from '@fairlead/core/attention/rules';
import type { Inputs } from '../../api/types.ts';
import { PROJECT_FILTER, projectInput } from '../project/project-input.ts';

export type AttentionInput = NonNullable<Inputs['deployment']['list']['attention']>;

export const ATTENTION_FILTER = 'attention';
export const CAUSE_FILTER = 'cause';

/** Names of the filter in the URL; the project is that of the whole page. */
export type AttentionFilterName = typeof ATTENTION_FILTER | typeof CAUSE_FILTER | typeof PROJECT_FILTER;

/** Returns no filter for an unknown kind. */
export function attentionInput(search: (name: AttentionFilterName) => string): { attention?: AttentionInput } {
  const kind = attentionKinds.find((each) => each === search(ATTENTION_FILTER));
  if (kind === undefined) return {};
  const cause = search(CAUSE_FILTER);
  return { attention: { kind, ...(cause === '' ? {} : { cause }), ...projectInput(search(PROJECT_FILTER)) } };
}

/** Returns the query of a URL that `attentionInput` reads. */
export function attentionQuery({ kind, cause, projectId }: AttentionInput): string {
  const query = new URLSearchParams({ [ATTENTION_FILTER]: kind });
  if (cause !== undefined) query.set(CAUSE_FILTER, cause);
  if (projectId !== undefined) query.set(PROJECT_FILTER, projectId);
  return query.toString();
}
