// Steps to trust the root of a local certificate authority on each platform. Pure.

export interface Platform {
  readonly name: string;
  readonly steps: string;
  /** Command for a terminal in the folder of the download; `file` has no extension. */
  readonly command?: (file: string) => string;
}

/** Returns the name of the downloaded root, without extension. */
export function rootFileName(server: string): string {
  return `fairlead-${server
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')}`;
}

export const PLATFORMS: readonly Platform[] = [
  {
    name: 'macOS',
    steps: 'Run this, or open the .crt file in Keychain Access and set it to “Always Trust”.',
    command: (file) =>
      `sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${file}.crt`,
  },
  {
    name: 'Windows',
    steps:
      'Run this in a terminal as administrator, or open the .crt file and install it in “Trusted Root Certification Authorities”.',
    command: (file) => `certutil -addstore -f Root ${file}.crt`,
  },
  {
    name: 'Debian, Ubuntu',
    steps: 'The folder takes PEM files that end in .crt.',
    command: (file) =>
      `sudo cp ${file}.pem /usr/local/share/ca-certificates/${file}.crt && sudo update-ca-certificates`,
  },
  {
    name: 'Fedora, RHEL',
    steps: 'Run this.',
    command: (file) => `sudo cp ${file}.pem /etc/pki/ca-trust/source/anchors/ && sudo update-ca-trust`,
  },
  {
    name: 'Firefox',
    steps:
      'Open Settings → Privacy & Security → Certificates → View Certificates → Authorities → Import, choose the .pem file, and trust it to identify websites.',
  },
  {
    name: 'iOS',
    steps:
      'Send the .crt file to the device and open it. Install it in Settings → General → VPN & Device Management, then turn it on in Settings → General → About → Certificate Trust Settings.',
  },
  {
    name: 'Android',
    steps:
      'Send the .crt file to the device. Open Settings → Security → Encryption & credentials → Install a certificate → CA certificate. Apps other than browsers trust it only if they allow user certificates.',
  },
];
