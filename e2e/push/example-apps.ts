// Example apps of `npm run perf:push`, each with the change that a push makes.
import { exampleFiles, LOCK, lockExample } from '../perf/example-files.ts';
import type { Files } from '../system/harness/repository.ts';

export interface PushedApp {
  readonly name: string;
  /** Description for the report. */
  readonly title: string;
  readonly files: Files;
  /** Longest time from a push until it is live. */
  readonly targetMs: number;
  /** Files that a push changes, so that the page at `/` contains the text. */
  change(text: string): Files;
}

/** Pages of the mid-size app, each with components of its own. */
const pages = 60;
const componentsOfPage = 4;

export function helloNode(): PushedApp {
  const files = exampleFiles('hello-node');
  return {
    name: 'hello-node',
    title: 'examples/hello-node',
    files,
    targetMs: 5_000,
    change: (text) => replaceIn(files, 'page.js', 'It runs.', text),
  };
}

/** `examples/hello-next` with a lock file, and with as many pages and components as an app of a small team has. */
export async function midSizeNext(): Promise<PushedApp> {
  const numbers = Array.from({ length: pages }, (_, index) => index + 1);
  const files: Files = {
    ...exampleFiles('hello-next'),
    [LOCK]: await lockExample('hello-next'),
    ...Object.fromEntries(numbers.flatMap(filesOfPage)),
  };
  return {
    name: 'mid-size-next',
    title: `examples/hello-next with ${pages} more pages and ${pages * componentsOfPage} components`,
    files,
    targetMs: 60_000,
    change: (text) => replaceIn(files, 'app/page.jsx', 'Hello from Next.js', text),
  };
}

/** Every third page is rendered for each request; every second component runs in the browser. */
function filesOfPage(page: number): readonly (readonly [path: string, text: string])[] {
  const names = Array.from({ length: componentsOfPage }, (_, index) => `Part${page}x${index + 1}`);
  const imports = names.map((name) => `import { ${name} } from '../../components/${name}.jsx';\n`).join('');
  const shown = names.map((name) => `      <${name} />\n`).join('');
  const mode = page % 3 === 0 ? "export const dynamic = 'force-dynamic';\n\n" : '';
  const text = `${imports}\n${mode}export default function Page() {\n  return (\n    <main>\n      <h1>Page ${page}</h1>\n${shown}    </main>\n  );\n}\n`;
  return [
    [`app/page-${page}/page.jsx`, text],
    ...names.map((name, index): [string, string] => [`components/${name}.jsx`, componentOf(name, index % 2 === 0)]),
  ];
}

function componentOf(name: string, isClient: boolean): string {
  if (!isClient) return `export function ${name}() {\n  return <section>${name}</section>;\n}\n`;
  return `'use client';

import { useState } from 'react';

export function ${name}() {
  const [count, setCount] = useState(0);
  return (
    <button type="button" onClick={() => setCount(count + 1)}>
      ${name}: {count}
    </button>
  );
}
`;
}

function replaceIn(files: Files, path: string, from: string, to: string): Files {
  const text = files[path];
  if (text?.includes(from) !== true) throw new Error(`${path} does not say "${from}"`);
  return { [path]: text.replace(from, to) };
}
