// Known devices: the browsers that an account signed in from before, by a random cookie with its hash in the
// database. The cookie grants no access; it only tells a returning device from a stranger.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IdentityClient } from '@fairlead/db/identity';
import { cookieWords, readCookie, writeCookie } from './cookies.ts';
import { type CookieKey, signDevice } from './signed-cookies.ts';

export interface KnownDevices {
  /** The id of the device that these headers come from, when this account knows it. */
  find(headers: Headers, userId: string): Promise<string | null>;
  /** True if any account knows the device. */
  isKnown(headers: Headers): Promise<boolean>;
  /**
   * Call it after a sign-in: returns the cookie to set if the device was unknown, and if the account has other
   * devices.
   */
  remember(headers: Headers, userId: string): Promise<{ readonly cookie: string | null; readonly isNew: boolean }>;
}

const maxAgeSeconds = 400 * 24 * 60 * 60;
const devicesMax = 50;

export function createKnownDevices(client: () => IdentityClient, key: CookieKey): KnownDevices {
  const words = cookieWords(key.baseUrl);
  const name = `${words.prefix}.device`;
  const find = async (headers: Headers, userId: string) => {
    const token = readCookie(headers, name);
    if (token === null) return null;
    const where = { userId_tokenHash: { userId, tokenHash: hashOf(token) } };
    const device = await client().knownDevice.findUnique({ where, select: { id: true } });
    return device?.id ?? null;
  };
  return {
    find,
    isKnown: async (headers) => {
      const token = readCookie(headers, name);
      if (token === null) return false;
      return (await client().knownDevice.count({ where: { tokenHash: hashOf(token) } })) > 0;
    },
    remember: async (headers, userId) => {
      const now = new Date();
      const id = await find(headers, userId);
      if (id !== null) {
        await client().knownDevice.updateMany({ where: { id }, data: { lastUsedAt: now } });
        return { cookie: null, isNew: false };
      }
      const known = await client().knownDevice.findMany({
        where: { userId },
        orderBy: { lastUsedAt: 'desc' },
        select: { id: true },
      });
      const forgotten = known.slice(devicesMax - 1).map((device) => device.id);
      if (forgotten.length > 0) await client().knownDevice.deleteMany({ where: { id: { in: forgotten } } });
      // Never a value that the browser sent: another person may have planted it.
      const token = signDevice(key.secret, randomBytes(32).toString('base64url'));
      await client().knownDevice.create({
        data: { id: randomUUID(), userId, tokenHash: hashOf(token), lastUsedAt: now },
      });
      return { cookie: writeCookie(name, token, maxAgeSeconds, words.isHttps), isNew: known.length > 0 };
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
