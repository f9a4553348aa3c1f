// HTML and SVG by tagged templates.
// Invariant: a value becomes text, never markup, unless a template made it.

/** Text that is safe to place into a page. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = Markup | string | number | null | undefined | readonly Value[];

export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(strings.reduce((text, part, at) => text + show(values[at - 1]) + part));
}

/** Marks text of our own, such as the style sheet, as markup. */
export function raw(text: string): Markup {
  return new Markup(text);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function show(value: Value): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'string' || typeof value === 'number') {
    return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
  }
  return value.map(show).join('');
}
