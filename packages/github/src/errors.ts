// Failures of GitHub's API in few kinds, so that callers decide by kind. Never holds a token or a response body.

export type GithubErrorCode =
  /** The address is private, and the operator has not allowed it. */
  | 'refused_address'
  /** No answer, or one that is not GitHub's. */
  | 'unreachable'
  /** The key, code or token is not valid (any more). */
  | 'unauthorized'
  /** Valid, but without the permission; or the installation is suspended. */
  | 'forbidden'
  | 'not_found'
  /** Rejected content. */
  | 'invalid'
  | 'rate_limited';

const githubErrorBrand = Symbol.for('fairlead.GithubError');

export class GithubError extends Error {
  override readonly name = 'GithubError';
  readonly code: GithubErrorCode;
  /** Earliest time of the next attempt, if GitHub names one. */
  readonly retryAt: Date | null;

  constructor(code: GithubErrorCode, message: string, retryAt: Date | null = null) {
    super(message);
    this.code = code;
    this.retryAt = retryAt;
  }

  get [githubErrorBrand](): true {
    return true;
  }

  /** Recognizes errors by their brand: a bundler may load this module twice in one process. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && githubErrorBrand in value;
  }
}
