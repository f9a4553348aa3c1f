// Values of fields for a local date and time. Pure.

/** Formats a moment for a `datetime-local` field, in the viewer's time zone and to the minute. */
export function localInputValue(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Names the viewer's time zone at a moment, such as `Europe/Berlin (GMT+1)`. */
export function zoneName(at: Date): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const part = new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset' })
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName');
  return part === undefined || /^GMT(\+0)?$/.test(part.value) ? timeZone : `${timeZone} (${part.value})`;
}
