// App that logs its secrets on both outputs, in every form that Fairlead promises to redact. Invariant: no HTTP
// response contains a value, because responses to visitors are not redacted.
import { PASS } from '../system/harness/gates.ts';
import type { Files } from '../system/harness/repository.ts';

/** Longer values are logged as they are only: all their encodings would exceed an app's share of the search. */
const ENCODED_CHARACTERS_MAX = 4096;

export interface LoggingAppOptions {
  readonly environment: readonly string[];
  readonly files: readonly string[];
  /** Gate that the app waits at before it logs and listens. */
  readonly gate: string;
  /** Marker at the end of the output; not a secret. */
  readonly mark: string;
  /** True if the app exits after its output. */
  readonly dies?: boolean;
}

const listening: readonly string[] = [
  "const body = digestOf(values) + ' ' + readFileSync('built.txt', 'utf8');",
  'const server = createServer((request, response) => {',
  '  tell();',
  '  response.end(body);',
  '});',
  'server.listen(Number(process.env.PORT));',
  "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
];

const digesting = "const digestOf = (given) => createHash('sha256').update(JSON.stringify(given)).digest('hex');";

/** Encodings in which a value is logged. */
const telling: readonly string[] = [
  'function tellOf(value) {',
  "  console.log('as it is: ' + value);",
  `  if (value.length > ${ENCODED_CHARACTERS_MAX}) return;`,
  "  console.error('in JSON: ' + JSON.stringify({ value }));",
  "  console.log('in an address: https://x.example.test/?q=' + encodeURIComponent(value));",
  "  console.log('as a form: ' + new URLSearchParams({ value }));",
  "  console.error('in base64: ' + Buffer.from(value).toString('base64'));",
  "  console.log('as a password: ' + Buffer.from('user:' + value).toString('base64'));",
  "  console.log('for addresses: ' + Buffer.from('a' + value).toString('base64url'));",
  '}',
];

/**
 * App that responds with the digest of all its values, which proves their arrival, and with the digest of its build
 * secrets by name. The build logs them all.
 */
export function loggingApp({ environment, files, gate, mark, dies = false }: LoggingAppOptions): Files {
  return {
    'package.json': JSON.stringify({
      name: 'talker',
      version: '1.0.0',
      private: true,
      type: 'module',
      scripts: { build: 'node build.js', start: 'node server.js' },
    }),
    'build.js': [
      "import { createHash } from 'node:crypto';",
      "import { writeFileSync } from 'node:fs';",
      digesting,
      ...telling,
      `const names = ${JSON.stringify([...environment, ...files])}.filter((name) => process.env[name] !== undefined);`,
      'for (const name of names) tellOf(process.env[name]);',
      `console.log(${JSON.stringify(`${mark}, built`)});`,
      "writeFileSync('built.txt', digestOf(names.map((name) => [name, process.env[name]])));",
      '',
    ].join('\n'),
    'server.js': [
      "import { createHash } from 'node:crypto';",
      "import { readFileSync } from 'node:fs';",
      "import { createServer } from 'node:http';",
      `const environment = ${JSON.stringify(environment)}.map((name) => process.env[name]);`,
      `const files = ${JSON.stringify(files)}.map((name) => readFileSync(process.env.FAIRLEAD_SECRETS + '/' + name, 'utf8'));`,
      'const values = [...environment, ...files];',
      digesting,
      ...telling,
      'function tell() {',
      '  for (const value of values) tellOf(value);',
      `  console.log(${JSON.stringify(mark)});`,
      '}',
      PASS,
      `await pass(${JSON.stringify(gate)});`,
      'tell();',
      ...(dies ? ['process.exitCode = 1;'] : listening),
      '',
    ].join('\n'),
  };
}
