// Live figure with digits that roll to their new value. Each digit keeps its column, so nothing beside it moves.
import { cn } from './lib/class-names.ts';

const DIGITS = [...'0123456789'];

export function RollingNumber({ text, className }: { readonly text: string; readonly className?: string }) {
  const characters = [...text];
  return (
    <span className={cn('tabular inline-flex', className)}>
      <span className="sr-only">{text}</span>
      <span aria-hidden="true" className="inline-flex whitespace-pre">
        {characters.map((character, index) => {
          // Count from the right: the units digit keeps its key when the number grows by a digit.
          const place = characters.length - index;
          const digit = DIGITS.indexOf(character);
          return digit === -1 ? (
            <span key={`sign-${place}`}>{character}</span>
          ) : (
            <span key={`digit-${place}`} className="relative inline-block overflow-hidden">
              <span className="invisible">0</span>
              <span
                className="absolute inset-x-0 top-0 flex flex-col transition-transform duration-180 ease-move"
                style={{ transform: `translateY(-${digit * 10}%)` }}
              >
                {DIGITS.map((each) => (
                  <span key={each}>{each}</span>
                ))}
              </span>
            </span>
          );
        })}
      </span>
    </span>
  );
}
