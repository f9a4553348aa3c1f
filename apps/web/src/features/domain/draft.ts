// A domain's policy while somebody changes it. Pure.
import type { DomainDetail } from '../../api/types.ts';

type Policy = DomainDetail['policy'];

/** As it is saved, but with the passwords that are typed; without one, a person keeps theirs. */
export interface PolicyDraft extends Omit<Policy, 'basicAuth'> {
  readonly basicAuth: { readonly realm: string; readonly users: readonly DraftUser[] } | null;
}

export interface DraftUser {
  readonly name: string;
  readonly password?: string;
}

/** What every part of the form gets: the policy as it would be saved, and a way to change it. */
export interface Draft {
  readonly policy: PolicyDraft;
  readonly set: <Name extends keyof PolicyDraft>(name: Name, value: PolicyDraft[Name]) => void;
  /** The API's sentence for a field, by its path below `policy`. */
  readonly problem: (path: string) => string | undefined;
}

export function changedIn(before: PolicyDraft, after: PolicyDraft): number {
  const names = Object.keys(after) as (keyof PolicyDraft)[];
  return names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).length;
}
