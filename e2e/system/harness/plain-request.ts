// Sends one request over plain HTTP to a proxy on this machine, and follows no redirect.
import { type IncomingHttpHeaders, request } from 'node:http';

export interface PlainRequest {
  readonly host: string;
  readonly port: number;
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export function requestPlain({ host, port }: PlainRequest): Promise<PlainAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, headers: { host }, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += String(chunk);
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.once('error', reject);
    sent.end();
  });
}
