// Icons of the palette's rows.
import { Contrast, FileText, Globe, Keyboard, LogOut, Server, SquareStack, Undo2, Zap } from 'lucide-react';

export const paletteIcons = {
  app: <SquareStack size={15} />,
  page: <FileText size={15} />,
  server: <Server size={15} />,
  domain: <Globe size={15} />,
  action: <Zap size={15} />,
  back: <Undo2 size={15} />,
  theme: <Contrast size={15} />,
  keyboard: <Keyboard size={15} />,
  signOut: <LogOut size={15} />,
} as const;
