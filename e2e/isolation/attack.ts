// Type of an attack in `npm run check:isolation`, with the ports and sentences that its rows share.
/** Sentence of the weaker mode that says why apps share the server's network. It admits nothing by itself. */
export const REASON = /^Apps and builds share the server's network, because /;

/** Sentences of the weaker mode by what they admit. Each must be on the server's page exactly once. */
export const SENTENCES = {
  connect: /^Apps and builds can connect to other apps and to the server/,
  private: /^Apps and builds can connect to cloud metadata and to private networks/,
  reach: /^Apps that listen on all addresses can be reached from outside/,
  listen: /^Builds can listen on any free port/,
  udp: /^Apps and builds can take any free UDP port/,
  list: /^Apps and builds can list the sockets of the server/,
  send: /^Apps and builds can send /,
} as const;
export type Sentence = keyof typeof SENTENCES;

export type Mode = 'full' | 'weaker';
export type From = 'app' | 'build' | 'container' | 'dockerfile' | 'outside';
type Value = string | number | boolean | readonly string[];

/** Evidence that an attack succeeded. */
export type Proof =
  /** It brought back the token of this target. */
  | { readonly token: string }
  /** It brought back a text that matches this. */
  | { readonly matches: RegExp }
  /** This target received what it sent, from that address if one is named. */
  | { readonly arrivesAt: string; readonly as?: string }
  /** More connections than this were open at this target at once. */
  | { readonly floods: string; readonly above: number };

export interface Attack {
  readonly id: string;
  readonly class: string;
  readonly family: 'v4' | 'v6' | '-';
  readonly from: From;
  readonly what: string;
  /** Protection that stops the attack in full mode. */
  readonly wall: string;
  /** Sentence that admits the attack in weaker mode, or `closed` if that mode stops it too. */
  readonly weaker: 'closed' | Sentence;
  /** Function of attack.py. Words in braces are placeholders, which have other values for the control. */
  readonly technique: string;
  readonly args: Readonly<Record<string, Value>>;
  readonly proof: Proof;
  /** Positive control without isolation: its user, and its arguments where they differ. */
  readonly control: { readonly as: 'user' | 'root'; readonly args?: Readonly<Record<string, Value>> };
  /** Traffic that the check makes during the attack; the control uses another port. */
  readonly meanwhile?: 'deploy' | 'visit';
  /** Only mode in which there is something to attack. */
  readonly only?: 'full';
  /** True if the short form in `npm test` includes it. */
  readonly short?: true;
}

type Row = Partial<Attack> & Pick<Attack, 'id' | 'what' | 'technique' | 'args' | 'proof'>;
type Defaults = Pick<Attack, 'class' | 'from' | 'wall' | 'weaker'> & Partial<Attack>;

export function rows(defaults: Defaults, own: readonly Row[]): Attack[] {
  return own.map((row) => ({ family: familyOf(row.id), control: { as: 'user' }, ...defaults, ...row }));
}

function familyOf(id: string): Attack['family'] {
  if (id.endsWith('-v4')) return 'v4';
  return id.endsWith('-v6') ? 'v6' : '-';
}

export const NETWORK = 'a network of the instance’s own';
export const FORWARD = 'the firewall rejects what is not the internet';
export const CAPABILITY = 'no capability, and none to be had';
export const get = (host: string, port: string | number) => ({ technique: 'tcp', args: { host, port } });
export const datagram = (host: string, port: string | number) => ({ technique: 'udp', args: { host, port } });

/** Ports of the check's own services, on every address unless the name says otherwise. */
export const PORTS = {
  loopback: 7001,
  address: 7002,
  loopbackUdp: 7003,
  addressUdp: 7004,
  linkLocal: 7006,
  loopbackOther: 8053,
  plainVictim: 7300,
  plainWide: 7301,
  /** First port that builds listen on. */
  build: 7400,
  plainBuild: 7399,
  /** First port that no other attack uses. */
  own: 7500,
  metrics: 9464,
  datagrams: 9999,
  world: 80,
} as const;
