// Text of security.txt. Pure. Source: RFC 9116, sections 2.5.3 (Contact), 2.5.5 (Expires) and 2.5.2 (Canonical).

export interface SecurityTextOptions {
  /** Contact as a mailto: or https: URL. */
  readonly contact: string;
  readonly publicUrl: string;
  readonly now: Date;
}

// RFC 9116 advises "less than a year into the future"; each response is generated anew.
const validMs = 30 * 24 * 60 * 60 * 1000;

export function securityText({ contact, publicUrl, now }: SecurityTextOptions): string {
  const lines = [
    `Contact: ${contact}`,
    `Expires: ${new Date(now.getTime() + validMs).toISOString()}`,
    `Canonical: ${publicUrl}/.well-known/security.txt`,
  ];
  return `${lines.join('\n')}\n`;
}
