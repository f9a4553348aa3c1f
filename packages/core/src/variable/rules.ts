// Rules of environment variables that pages apply before they save: which names are secrets. Pure and safe for
// browsers.

/** Prefixes of names that frameworks publish in the code for browsers. */
const publishedPrefix = /^(?:NEXT_PUBLIC_|VITE_|PUBLIC_|REACT_APP_|NUXT_PUBLIC_|GATSBY_|EXPO_PUBLIC_)/;
const secretName = /(?:^|_)(?:KEY|TOKEN|SECRET)$|PASSWORD|^DATABASE_URL$/i;
/** A URL with a password: scheme://user:password@host. */
const urlWithPassword = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]*:[^/?#@\s]+@/i;

/** Tells if a variable is probably a secret, by its name or by a password in its value. A person can choose otherwise. */
export function looksSecret(name: string, value = ''): boolean {
  if (urlWithPassword.test(value)) return true;
  return secretName.test(name) && !publishedPrefix.test(name);
}
