// Message in place of a server's charts.
import { EmptyState } from '@fairlead/ui/empty-state';

export function NoSamples() {
  return (
    <EmptyState title="No data in this period">
      The agent sent no samples. Choose a longer or another period.
    </EmptyState>
  );
}
