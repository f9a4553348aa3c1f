// Reads the locale from a request's Accept-Language header. Pure.
import { isLocale } from '@fairlead/core/kernel/region';

const FALLBACK = 'en-US';

/** Returns the first locale that Intl knows: browsers send the preferred one first. */
export function acceptedLocale(header: string): string {
  const tags = header.split(',').map((part) => part.split(';')[0]?.trim() ?? '');
  return tags.find(isLocale) ?? FALLBACK;
}
