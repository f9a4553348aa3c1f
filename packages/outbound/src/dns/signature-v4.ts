// AWS Signature Version 4 of a request, in its Authorization header. Pure.
import { createHash, createHmac } from 'node:crypto';

export interface AwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface RequestToSign {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly service: string;
  readonly region: string;
  readonly now: Date;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** Returns the headers of the signed request, without `host`, which every client sends by itself. */
export function signRequest(
  { method, url, body, service, region, now }: RequestToSign,
  { accessKeyId, secretAccessKey }: AwsKey,
): Record<string, string> {
  const { host, pathname, searchParams } = new URL(url);
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const query = [...searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const signedHeaders = 'host;x-amz-date';
  const headers = `host:${host}\nx-amz-date:${time}\n`;
  const canonical = [method, pathname, query, headers, signedHeaders, sha256(body)].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, text).toString('hex');
  return {
    'x-amz-date': time,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`,
  };
}

/** Percent-encodes everything but the unreserved characters of RFC 3986. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
