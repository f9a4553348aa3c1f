// Maps errors to responses: a code of the table and its sentence, fields of bad input, or only an id.
// Invariant: the text of an unknown error stays in the log, because it may quote a query, a path or a secret.
import { randomBytes } from 'node:crypto';
import { AppError, type ErrorCode, errorTable } from '@fairlead/contract/errors';
import type { Log } from '@fairlead/core/kernel';
import { TRPCError } from '@trpc/server';
import { ZodError } from 'zod';

export interface PublicError {
  readonly errorCode: ErrorCode;
  readonly details: AppError['details'];
  /** For bad input: a sentence for each field path. */
  readonly fields: Readonly<Record<string, string>>;
  /** For an unknown error: its id in the log. */
  readonly errorId: string | null;
}

const nothing: Omit<PublicError, 'errorCode'> = { details: {}, fields: {}, errorId: null };

/** Rides as the cause of a TRPCError from here to the formatter. */
class PublishedError extends Error {
  readonly published: PublicError;

  constructor(published: PublicError) {
    super(errorTable[published.errorCode].message);
    this.published = published;
  }
}

/** Maps any error that a procedure threw to a tRPC error. */
export function toTrpcError(thrown: unknown, log: Log, path: string): TRPCError {
  if (thrown instanceof TRPCError && thrown.cause instanceof PublishedError) return thrown;
  const root = thrown instanceof TRPCError && thrown.cause !== undefined ? thrown.cause : thrown;
  if (root instanceof AppError) return publish({ ...nothing, errorCode: root.code, details: root.details });
  if (root instanceof ZodError && thrown instanceof TRPCError && thrown.code === 'BAD_REQUEST')
    return publish({ ...nothing, errorCode: 'input.invalid', fields: fieldsOf(root) });
  const errorId = `err_${randomBytes(9).toString('base64url')}`;
  log.error({ err: root, errorId, path }, 'a procedure failed unexpectedly');
  return publish({ ...nothing, errorCode: 'internal.unexpected', errorId });
}

/**
 * Returns the fields that the formatter adds to an error response. tRPC's own refusals (no such procedure, bad JSON)
 * never pass the mapping.
 */
export function publicErrorOf(error: TRPCError): PublicError {
  if (error.cause instanceof PublishedError) return error.cause.published;
  return { ...nothing, errorCode: error.code === 'INTERNAL_SERVER_ERROR' ? 'internal.unexpected' : 'input.invalid' };
}

function publish(published: PublicError): TRPCError {
  const entry = errorTable[published.errorCode];
  return new TRPCError({ code: entry.trpc, message: entry.message, cause: new PublishedError(published) });
}

function fieldsOf(error: ZodError): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const issue of error.issues) fields[issue.path.join('.')] ??= issue.message;
  return fields;
}
