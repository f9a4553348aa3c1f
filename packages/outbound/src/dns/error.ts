// Failure of a DNS provider, as a sentence for users. Never holds a credential.

/**
 * `unreachable`: it may work later. `refused`: the credentials or their rights are wrong. `zone_unknown`: the account does not
 * have the zone.
 */
export type DnsProviderErrorCode = 'unreachable' | 'refused' | 'zone_unknown';

const brand = Symbol.for('fairlead.DnsProviderError');

export class DnsProviderError extends Error {
  override readonly name = 'DnsProviderError';
  readonly code: DnsProviderErrorCode;

  constructor(code: DnsProviderErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }

  get [brand](): true {
    return true;
  }

  /** Recognizes errors by their brand: a bundler may load this module twice in one process. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value;
  }
}
