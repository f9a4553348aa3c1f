// One call of a mutation, with a valid input.
import type { AuditAction } from '@fairlead/contract/audit-actions';

export interface AuditCall {
  /** Creates the rows that the input names. */
  input(): Promise<unknown>;
  /** Action in the audit log; null for a read that is a mutation only to keep its input out of the URL. */
  readonly action: AuditAction | null;
  /** Reverts changes that would disturb other calls. */
  after?(): Promise<unknown>;
  /** Caller; default: the owner. Runs after `input`. */
  by?(): { readonly cookie: string; readonly userId: string };
  /** Organization of the call; default: the world's. Runs after `input`. */
  at?(): { readonly id: string; readonly slug: string };
  /** Organization of the log entry, if it is only known after the call. */
  logOf?(answer: unknown): string;
  /** For procedures that no member calls. */
  readonly asStranger?: true;
}
