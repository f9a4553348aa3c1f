// Shows a state as a pill or as text.
import { StatePill, StateText } from '@fairlead/ui/state-pill';
import type { StateLook } from './states.ts';

export function LookPill({ look }: { readonly look: StateLook }) {
  return (
    <StatePill tone={look.tone} {...(look.shape === undefined ? {} : { shape: look.shape })}>
      {look.label}
    </StatePill>
  );
}

export function LookText({ look }: { readonly look: StateLook }) {
  return (
    <StateText tone={look.tone} {...(look.shape === undefined ? {} : { shape: look.shape })}>
      {look.label}
    </StateText>
  );
}
