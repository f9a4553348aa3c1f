// Canaries for tests of redaction: texts that must never be published, one at a time in each string and key of a document.
import type { BenchmarkDocument } from './document.ts';

const CANARIES = [
  'canary.shop.example.com',
  'canary@example.com',
  '/home/canary/app',
  'https://canary.example.com/a?b=c',
  '203.0.113.77',
  '10.99.99.7',
  '2001:db8:77::77',
  'Debian canary 203.0.113.77',
  'AMD EPYC canary',
  '6.12.0-canary',
  '1.2.3-canary',
  'nginx canary/1.2.3',
  'Ubuntu 24.04 canary',
  'канарейка.рф',
  'ｃａｎａｒｙ',
] as const;
/** Parts by which a canary is recognized in any text. */
const PARTS = ['canary', 'канарейка', 'ｃａｎａｒｙ', '203.0.113', '10.99.99', '2001:db8', 'example.com'];

export interface Changed {
  /** Field and canary. */
  readonly path: string;
  readonly changed: BenchmarkDocument;
}

/** Returns the document once for each canary in each of its strings and record keys. */
export function withCanaries(document: BenchmarkDocument): Changed[] {
  return CANARIES.flatMap((canary) =>
    variants(document, canary, '').map(({ path, value }) => ({
      path: `${path} = ${canary}`,
      changed: value as BenchmarkDocument,
    })),
  );
}

/** Returns the document with a canary in every string and key at once, except those that `isRefused` for any canary. */
export function fullOfCanaries(
  document: BenchmarkDocument,
  isRefused: (changed: BenchmarkDocument) => boolean,
): BenchmarkDocument {
  let full = document;
  for (let at = 0; ; at += 1) {
    const fields = variants(full, CANARIES[at % CANARIES.length] ?? '', '');
    const field = fields[at];
    if (field === undefined) return full;
    const changed = field.value as BenchmarkDocument;
    if (!isRefused(changed)) full = changed;
  }
}

export function canariesIn(text: string): string[] {
  return PARTS.filter((part) => text.includes(part));
}

interface Variant {
  readonly path: string;
  readonly value: unknown;
}

function variants(value: unknown, canary: string, path: string): Variant[] {
  if (typeof value === 'string') return [{ path, value: canary }];
  if (Array.isArray(value)) {
    return value.flatMap((item, at) =>
      variants(item, canary, `${path}[${at}]`).map((variant) => ({ ...variant, value: value.with(at, variant.value) })),
    );
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const rest = Object.fromEntries(Object.entries(value).filter(([other]) => other !== key));
    return [
      { path: `${path}.{${key}}`, value: { ...rest, [canary]: item } },
      ...variants(item, canary, `${path}.${key}`).map((variant) => ({
        ...variant,
        value: { ...value, [key]: variant.value },
      })),
    ];
  });
}
