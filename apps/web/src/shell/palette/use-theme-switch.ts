'use client';
// Switches between light and dark from the palette, and offers to undo it.
import { useToast } from '@fairlead/ui/toast';
import { useTheme } from '../../common/theme/use-theme.ts';

export function useThemeSwitch(): { readonly title: string; readonly toggle: () => void } {
  const { theme, isDark, setTheme } = useTheme();
  const toast = useToast();
  const next = isDark ? 'light' : 'dark';
  return {
    title: `Switch to the ${next} theme`,
    toggle: () => {
      setTheme(next);
      toast({
        title: `The ${next} theme is on`,
        action: { label: 'Undo', onSelect: () => setTheme(theme) },
      });
    },
  };
}
