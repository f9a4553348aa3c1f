// Owns the one error that verbs throw: a code of the contract's table and data, no prose and no transport.
import { type ErrorCode, errors } from '@fairlead/contract/errors';

export type ErrorDetails = Readonly<Record<string, string | number | boolean | null>>;

export class AppError extends Error {
  readonly code: ErrorCode;
  /** Shown to whoever asked: ids and names of their own, never another organization's data. */
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(errors[code].message, options);
    this.name = 'AppError';
    this.code = code;
    this.details = details;
  }
}

interface PrismaKnownError {
  code: string;
  meta?: unknown;
}

/** Whether the database refused a row because a unique value is taken. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && (error as Error & Partial<PrismaKnownError>).code === 'P2002';
}
