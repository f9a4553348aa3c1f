// Marks a run that was measured elsewhere.
export function ImportedMark() {
  return (
    <span className="rounded-mark bg-warn-wash px-1.5 py-0.5 font-medium font-sans text-warn-text text-xs">
      Imported
    </span>
  );
}
