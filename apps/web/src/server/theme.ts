// Reads the theme from its cookie, so that the first paint has it without a script.
import 'server-only';
import { cookies } from 'next/headers';
import { isTheme, type Theme, themeCookie } from '../common/theme/theme.ts';

export async function readTheme(): Promise<Theme> {
  const value = (await cookies()).get(themeCookie)?.value ?? '';
  return isTheme(value) ? value : 'system';
}
