// Note over the page while the control plane can't be reached. It covers the page's edge, so nothing moves.
import { StateMark } from '@fairlead/ui/state-pill';

export function OfflineNote() {
  return (
    <p
      role="status"
      className="-translate-x-1/2 fixed top-2 left-1/2 z-40 flex w-max max-w-[calc(100vw-2rem)] items-center gap-2 rounded-control border border-line bg-raised px-3 py-1.5 text-sm shadow-float"
    >
      <StateMark tone="warn" />
      You're offline. Pages open again when you're connected, and changes aren't saved until then.
    </p>
  );
}
