// One call of a mutation, with a valid input.
import type { AuditAction } from '@fairlead/contract/audit-actions';

export interface AuditCall {
  /** Creates the rows that the input names. */
  input(): Promise<unknown>;
  /** The action it is written down as; null for what only reads and is a mutation to keep its input out of the address. */
  readonly action: AuditAction | null;
  /** Puts back what would be in the others' way. */
  after?(): Promise<unknown>;
  /** Without it, the owner calls. Asked after the input was made. */
  by?(): { readonly cookie: string; readonly userId: string };
  /** Without it, it happens in the world's organization. Asked after the input was made. */
  at?(): { readonly id: string; readonly slug: string };
  /** Organization of the log entry, if it is only known after the call. */
  logOf?(answer: unknown): string;
  /** For procedures that no member calls. */
  readonly asStranger?: true;
}
