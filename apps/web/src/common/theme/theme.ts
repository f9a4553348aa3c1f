// Light, dark or system theme, stored in a cookie for a year. The cookie does not identify a person.
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];
export const themeCookie = 'fairlead_theme';

const YEAR_SECONDS = 31_536_000;

export function isTheme(text: string): text is Theme {
  return themes.some((theme) => theme === text);
}

export function applyTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === 'system') delete root.dataset.theme;
  else root.dataset.theme = theme;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet
  document.cookie = `${themeCookie}=${theme}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`;
}

export function currentTheme(): Theme {
  const theme = document.documentElement.dataset.theme ?? 'system';
  return isTheme(theme) ? theme : 'system';
}
