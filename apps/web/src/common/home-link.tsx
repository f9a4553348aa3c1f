// The way back from a dead end; the door at `/` knows where the reader belongs.
import { buttonClass } from '@fairlead/ui/button';
import Link from 'next/link';

export function HomeLink() {
  return (
    <Link href="/" className={buttonClass('plain')}>
      Go to the overview
    </Link>
  );
}
