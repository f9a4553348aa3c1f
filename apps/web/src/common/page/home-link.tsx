// Link from an error page to `/`, which redirects to where the reader belongs.
import { buttonClass } from '@fairlead/ui/button';
import { HoverLink } from './hover-link.tsx';

export function HomeLink() {
  return (
    <HoverLink href="/" className={buttonClass('plain')}>
      Go to the overview
    </HoverLink>
  );
}
