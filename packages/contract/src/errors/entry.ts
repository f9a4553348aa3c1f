// Maps an error code to HTTP, tRPC and the link, with the helpers for its tables.

/** WebSocket close codes (RFC 6455, section 7.4.1, and the IANA registry). */
type CloseCode = 1008 | 1009 | 1011 | 1012;

type TrpcCode =
  | 'BAD_REQUEST'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'TOO_MANY_REQUESTS'
  | 'INTERNAL_SERVER_ERROR';

export interface ErrorEntry {
  readonly http: 400 | 401 | 403 | 404 | 409 | 413 | 429 | 500;
  readonly trpc: TrpcCode;
  /** Set when the code may end a link: the close code of its WebSocket. */
  readonly link?: CloseCode;
  /** True if the same request may succeed later without any change. */
  readonly retryable: boolean;
  /** Cause and remedy, in whole sentences. */
  readonly message: string;
}

type Options = Pick<Partial<ErrorEntry>, 'link' | 'retryable'>;

export function entry(http: ErrorEntry['http'], trpc: TrpcCode, message: string, options: Options = {}): ErrorEntry {
  return { http, trpc, message, retryable: false, ...options };
}
export const invalid = (message: string) => entry(400, 'BAD_REQUEST', message);
export const missing = (message: string) => entry(404, 'NOT_FOUND', message);
export const forbidden = (message: string) => entry(403, 'FORBIDDEN', message);
export const conflict = (message: string) => entry(409, 'CONFLICT', message);
export const refused = (message: string, link: CloseCode = 1008) => entry(400, 'BAD_REQUEST', message, { link });
export const failed = (message: string, options: Options = {}) => entry(500, 'INTERNAL_SERVER_ERROR', message, options);
