// Reads tags from a text such as `nightly, tls`. Pure.
export function parseTags(text: string): string[] {
  const tags = text.split(',').map((part) => part.trim());
  return [...new Set(tags.filter((tag) => tag !== ''))];
}
