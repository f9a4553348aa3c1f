// Formats text between backticks in the agent's messages as code.

export function TextWithCode({ text }: { readonly text: string }) {
  return text.split('`').map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the same command may be named twice
      <code key={index} className="font-mono text-[0.92em]">
        {part}
      </code>
    ),
  );
}
