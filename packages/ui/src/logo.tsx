// The mark: a ring with a line passing through it. Drawn on a 24 grid so that it stays crisp at 16 pixels.
export function LogoMark({ size = 24 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden="true">
      <circle cx="12" cy="12" r="7" stroke="var(--accent)" strokeWidth="3.5" />
      {/* The line passes behind the near side of the ring and out in front of the far one. */}
      <path d="M1.5 20.5 8.6 14.6" stroke="currentColor" strokeWidth="2.5" strokeLinecap="round" />
      <path d="M11 12.6 22.5 3.5" stroke="var(--surface)" strokeWidth="6" />
      <path d="M11 12.6 22.5 3.5" stroke="currentColor" strokeWidth="2.5" strokeLinecap="round" />
    </svg>
  );
}

export function Logo({ size = 22 }: { readonly size?: number }) {
  return (
    <span className="inline-flex items-center gap-2 text-ink">
      <LogoMark size={size} />
      <span className="text-lg font-semibold tracking-[-0.02em]">Fairlead</span>
    </span>
  );
}
