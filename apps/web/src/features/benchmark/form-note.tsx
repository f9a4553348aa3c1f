// Error of a form that belongs to none of its fields. It takes the focus as an invalid field does.
import { ErrorNote } from '@fairlead/ui/error-state';

export function FormNote({ note }: { readonly note: string | null }) {
  if (note === null) return null;
  return (
    <div data-invalid="" tabIndex={-1} className="outline-none">
      <ErrorNote>{note}</ErrorNote>
    </div>
  );
}
