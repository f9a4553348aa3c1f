// Live figure that fades to its new value. Digits have equal widths, so nothing beside it moves.
import { cn } from './lib/class-names.ts';

export function LiveFigure({ text, className }: { readonly text: string; readonly className?: string }) {
  return (
    // A new key restarts the animation; the first paint of the page fades once too.
    <span key={text} className={cn('tabular inline-block whitespace-pre animate-figure', className)}>
      {text}
    </span>
  );
}
