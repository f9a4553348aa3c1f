// Checks locales and time zones against the data of Intl. Pure.

/** True for a locale without extensions, such as `de-DE`, that Intl has data for. */
export function isLocale(text: string): boolean {
  try {
    return new Intl.Locale(text).baseName === text && Intl.DateTimeFormat.supportedLocalesOf(text).length > 0;
  } catch {
    return false;
  }
}

/** True for the name of a time zone. Offsets such as `+05:30` are none: they know no daylight saving. */
export function isTimeZone(text: string): boolean {
  try {
    return /^[A-Z]/i.test(text) && new Intl.DateTimeFormat('en', { timeZone: text }) !== null;
  } catch {
    return false;
  }
}
