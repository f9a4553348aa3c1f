// Recognizes database errors that operations turn into errors of the contract's table.

interface CodedError {
  readonly code?: unknown;
}

/** True if the database refused a row because of the exclusion constraint of that name (SQLSTATE 23P01). */
export function isExcluded(error: unknown, name: string): boolean {
  return error instanceof Error && error.message.includes(`exclusion constraint "${name}"`);
}

/** True if the database refused a row because a unique value is taken (Prisma's P2002). */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && (error as CodedError).code === 'P2002';
}
