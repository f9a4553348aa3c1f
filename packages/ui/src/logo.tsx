// Logo: a ring with a line passing through it. Drawn on a 24-pixel grid so that it stays crisp at 16 pixels.
export function LogoMark({ size = 24 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden="true">
      {/* The line starts behind the ring and ends in front of it; the ring has a gap only where the line is in front. */}
      <path d="M16.9 5.6A8 8 0 1 0 19.7 9.8" stroke="var(--accent)" strokeWidth="3.25" strokeLinecap="butt" />
      <path d="M1.75 20.75 5 18M8.3 15.2 22.25 3.25" stroke="currentColor" strokeWidth="2.25" strokeLinecap="round" />
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
