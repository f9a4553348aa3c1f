// Tags of a benchmark run.
export function TagList({ tags }: { readonly tags: readonly string[] }) {
  if (tags.length === 0) return null;
  return (
    <ul aria-label="Tags" className="flex flex-wrap gap-1.5">
      {tags.map((tag) => (
        <li key={tag} className="rounded-mark bg-sunken px-1.5 py-0.5 text-ink-soft text-xs">
          {tag}
        </li>
      ))}
    </ul>
  );
}
