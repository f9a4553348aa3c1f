// Cookie with the browser's time zone, so that the server renders times in it. The cookie does not identify a person.
export const timeZoneCookie = 'fairlead_time_zone';

const YEAR_SECONDS = 31_536_000;

export function storeTimeZone(timeZone: string): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet
  document.cookie = `${timeZoneCookie}=${timeZone}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`;
}
