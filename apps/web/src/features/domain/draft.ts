// Draft of a domain's policy while it is edited. Pure.
import type { DomainDetail } from '../../api/types.ts';

type Policy = DomainDetail['policy'];

/** Saved policy with typed passwords; a user without one keeps the stored password. */
export interface PolicyDraft extends Omit<Policy, 'basicAuth'> {
  readonly basicAuth: { readonly realm: string; readonly users: readonly DraftUser[] } | null;
}

export interface DraftUser {
  readonly name: string;
  readonly password?: string;
}

/** Draft and setter for the sections of the form. */
export interface Draft {
  readonly policy: PolicyDraft;
  readonly set: <Name extends keyof PolicyDraft>(name: Name, value: PolicyDraft[Name]) => void;
  /** Returns the API's error for a field by its path below `policy`. */
  readonly problem: (path: string) => string | undefined;
}
