// Error types of the embedded server. Messages are sentences that tell a person what to do.

export type EmbeddedErrorCode =
  | 'binaries_missing'
  | 'folder_closed'
  | 'account_missing'
  | 'already_running'
  | 'version_mismatch'
  | 'port_taken'
  | 'disk_full'
  | 'start_failed';

export class EmbeddedError extends Error {
  readonly code: EmbeddedErrorCode;
  /** The folder or port that is in the way, where there is one. */
  readonly subject: string | null;

  constructor(code: EmbeddedErrorCode, message: string, subject: string | null = null) {
    super(message);
    this.name = 'EmbeddedError';
    this.code = code;
    this.subject = subject;
  }
}

/** Explains a failure by the last output of a program of PostgreSQL. */
export function explainFailure(what: string, words: readonly string[], port: number): EmbeddedError {
  const text = words.join('\n');
  if (/Address already in use/i.test(text)) {
    return new EmbeddedError(
      'port_taken',
      `Port ${port} is taken by another program. Choose another port.`,
      String(port),
    );
  }
  if (/No space left on device/i.test(text)) {
    return new EmbeddedError('disk_full', 'The disk is full. Free some space and start again.');
  }
  return new EmbeddedError('start_failed', `${what} failed: ${text.trim() || 'it said nothing'}`);
}
