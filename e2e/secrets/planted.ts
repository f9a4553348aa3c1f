// Values to plant: in the shapes of real secrets, and some that are hard to escape.
import { randomBytes } from 'node:crypto';
import type { Planted } from './search.ts';

export function plantedSecrets(): Planted[] {
  const random = () => randomBytes(18).toString('base64url');
  const shapes: (() => string)[] = [
    random,
    () => `postgres://shop:${random()}@db.internal:5432/shop?sslmode=require&x=1`,
    () => `-----BEGIN PRIVATE KEY-----\n${randomBytes(96).toString('base64')}\n-----END PRIVATE KEY-----\n`,
    () => `{"type":"service_account","key":"${random()}","note":"a \\"quoted\\" word"}`,
    () => `spaces and + % & = # ${random()}`,
    () => `naïve Schlüssel ✓ ${random()}`,
    () => `tab\tand\\backslash\\${random()}'"`,
    () => randomBytes(32).toString('hex'),
    () => randomBytes(30_000).toString('base64'),
  ];
  return Array.from({ length: 220 }, (_, index) => ({
    name: `PLANTED_${index}`,
    value: (shapes[index < 200 ? index % 8 : index % 9] ?? random)(),
  }));
}
