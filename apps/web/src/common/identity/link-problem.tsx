// Page of a one-time link that doesn't work any more: why, and the way on.
import { buttonClass } from '@fairlead/ui/button';
import { IdentityFrame } from './identity-frame.tsx';

export interface LinkProblemProps {
  readonly title: string;
  readonly lead: string;
  /** Main way on; the dashboard is offered beside it. */
  readonly way?: { readonly label: string; readonly href: string };
}

export function LinkProblem({ title, lead, way }: LinkProblemProps) {
  return (
    <IdentityFrame title={title} lead={lead}>
      <div className="flex flex-wrap gap-3">
        {way === undefined ? null : (
          <a href={way.href} className={buttonClass('accent', 'large')}>
            {way.label}
          </a>
        )}
        <a href="/" className={buttonClass('plain', 'large')}>
          Go to the dashboard
        </a>
      </div>
    </IdentityFrame>
  );
}
