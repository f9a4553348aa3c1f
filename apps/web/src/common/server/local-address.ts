// Detects loopback addresses: a command or link with one is useless on another machine. Pure.

/** Returns the first such address in a text; null if there is none. */
export function localAddressIn(text: string): string | null {
  for (const [address] of text.matchAll(/https?:\/\/[^/\s'"]+/g)) {
    if (!URL.canParse(address)) continue;
    const { hostname } = new URL(address);
    if (/^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) return address;
  }
  return null;
}
