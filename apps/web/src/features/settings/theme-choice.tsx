'use client';
// Switch between the light, dark and system theme.
import { Segmented } from '@fairlead/ui/tabs';
import { useTheme } from '../../common/theme/use-theme.ts';

const OPTIONS = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

export function ThemeChoice() {
  const { theme, setTheme } = useTheme();
  return <Segmented label="Theme" value={theme} options={OPTIONS} onValueChange={setTheme} />;
}
