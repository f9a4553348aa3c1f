// What security.txt says. Pure. Source: RFC 9116, sections 2.5.3 (Contact), 2.5.5 (Expires) and 2.5.2 (Canonical).

export interface SecurityTextOptions {
  /** A mailto: or https: address. */
  readonly contact: string;
  readonly publicUrl: string;
  readonly now: Date;
}

// "Less than a year into the future" is the RFC's advice; each answer is made anew.
const validMs = 30 * 24 * 60 * 60 * 1000;

export function securityText({ contact, publicUrl, now }: SecurityTextOptions): string {
  const lines = [
    `Contact: ${contact}`,
    `Expires: ${new Date(now.getTime() + validMs).toISOString()}`,
    `Canonical: ${publicUrl}/.well-known/security.txt`,
  ];
  return `${lines.join('\n')}\n`;
}
