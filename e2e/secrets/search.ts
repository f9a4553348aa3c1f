// Searches any bytes for planted secrets: as they are, percent-encoded, in base64, JSON-escaped and in hexadecimal.
// Single pass, however many secrets there are.

export interface Planted {
  readonly name: string;
  readonly value: string;
}

export interface Haystack {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface Finding {
  readonly place: string;
  /** Name of the secret, never its value. */
  readonly secret: string;
  readonly form: string;
}

interface Needle {
  readonly secret: string;
  readonly form: string;
  readonly bytes: Buffer;
}

// Minimum length in bytes; shorter values would match by chance.
const needleBytesMin = 8;

export function formsOf({ name, value }: Planted): Needle[] {
  const utf8 = Buffer.from(value, 'utf8');
  const texts: [string, string][] = [
    ['exact', value],
    ['percent-encoded', encodeURIComponent(value)],
    ['percent-encoded, as a form', new URLSearchParams([['', value]]).toString().slice(1)],
    ['percent-encoded, lower case', encodeURIComponent(value).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())],
    ['JSON', JSON.stringify(value).slice(1, -1)],
    ['JSON in JSON', JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1)],
    ['hexadecimal', utf8.toString('hex')],
    ...[0, 1, 2].flatMap((shift): [string, string][] => {
      // Inside longer base64, a secret begins at one of three offsets; characters shared with its neighbours are cut.
      const whole = Buffer.concat([Buffer.alloc(shift), utf8])
        .toString('base64')
        .replace(/=+$/, '');
      const inner = whole.slice(shift === 0 ? 0 : shift + 1, (utf8.length + shift) % 3 === 0 ? undefined : -1);
      return [
        [`base64, shifted by ${shift}`, inner],
        [`base64url, shifted by ${shift}`, inner.replaceAll('+', '-').replaceAll('/', '_')],
      ];
    }),
  ];
  const seen = new Map(texts.reverse().map(([form, text]) => [text, form]));
  return [...seen].map(([text, form]) => {
    const bytes = Buffer.from(text, 'utf8');
    if (bytes.length < needleBytesMin) throw new Error(`the planted secret ${name} is too short to look for`);
    return { secret: name, form, bytes };
  });
}

/** Returns the places with any form of any secret, each secret and form once per place. */
export function search(places: readonly Haystack[], planted: readonly Planted[]): Finding[] {
  const byHead = new Map<number, Needle[]>();
  const heads = new Uint8Array(1 << 24);
  for (const needle of planted.flatMap(formsOf)) {
    const head = headAt(needle.bytes, 0);
    heads[head] = 1;
    byHead.set(head, [...(byHead.get(head) ?? []), needle]);
  }
  return places.flatMap(({ name, bytes }) => {
    const found = new Map<string, Finding>();
    for (let at = 0; at + needleBytesMin <= bytes.length; at += 1) {
      const head = headAt(bytes, at);
      if (heads[head] === 0) continue;
      for (const { secret, form, bytes: needle } of byHead.get(head) ?? []) {
        if (at + needle.length <= bytes.length && needle.compare(bytes, at, at + needle.length) === 0) {
          found.set(`${secret} ${form}`, { place: name, secret, form });
        }
      }
    }
    return [...found.values()];
  });
}

function headAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
}
