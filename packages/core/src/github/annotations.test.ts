import { expect, test } from 'vitest';
import { annotationsOf } from './annotations.ts';

const placesOf = (log: string, rootFolder = '') =>
  annotationsOf(log.split('\n'), rootFolder).map(({ path, line, message }) => [path, line, message]);

test('tsc, plain and pretty', () => {
  expect(
    placesOf(
      `src/page.tsx(3,1): error TS1005: ';' expected.
\u001b[96msrc/app.ts\u001b[0m:\u001b[93m12\u001b[0m:\u001b[93m5\u001b[0m - \u001b[91merror\u001b[0m TS2322: Type 'string'.
src/app.ts:12:9 - error TS2322: the same line again`,
    ),
  ).toEqual([
    ['src/page.tsx', 3, "src/page.tsx(3,1): error TS1005: ';' expected."],
    ['src/app.ts', 12, "src/app.ts:12:5 - error TS2322: Type 'string'."],
  ]);
});

test('eslint lists the errors of a file below its name, and warnings are none', () => {
  const log = `
/var/lib/fairlead/builds/dep_01abc/source/apps/web/src/a.js
   1:10  warning  'x' is defined but never used   no-unused-vars
  12:5   error    'y' is not defined              no-undef

./app/page.tsx
7:3  Error: Do not pass children as props.  react/no-children-prop
8:3  Warning: Using <img>.  @next/next/no-img-element`;
  expect(placesOf(log, 'apps/web')).toEqual([
    ['apps/web/src/a.js', 12, "'y' is not defined              no-undef"],
    ['apps/web/app/page.tsx', 7, 'Do not pass children as props.  react/no-children-prop'],
  ]);
});

test('Next.js names the place above the message', () => {
  expect(placesOf("./app/page.tsx:12:5\nType error: Property 'z' does not exist on type 'P'.\n\n  10 | x")).toEqual([
    ['app/page.tsx', 12, "Type error: Property 'z' does not exist on type 'P'."],
  ]);
  expect(placesOf('./app/[slug]/(shop)/page.tsx:2:1\nModule not found')).toEqual([
    ['app/[slug]/(shop)/page.tsx', 2, 'Module not found'],
  ]);
});

test('rustc names the place below the message, and esbuild too', () => {
  const log = `warning: unused variable
 --> src/lib.rs:1:5
error[E0425]: cannot find value \`y\` in this scope
  --> src/main.rs:2:5
   |
✘ [ERROR] Could not resolve "./gone"

    src/index.ts:3:20:
      3 │ import gone from "./gone"`;
  expect(placesOf(log)).toEqual([
    ['src/main.rs', 2, 'error[E0425]: cannot find value `y` in this scope'],
    ['src/index.ts', 3, 'Could not resolve "./gone"'],
  ]);
});

test('go and rollup', () => {
  const log = `# example.test/shop
./main.go:7:2: undefined: x
src/App.vue (9:14): "Gone" is not exported by "src/gone.ts"`;
  expect(placesOf(log)).toEqual([
    ['main.go', 7, './main.go:7:2: undefined: x'],
    ['src/App.vue', 9, 'src/App.vue (9:14): "Gone" is not exported by "src/gone.ts"'],
  ]);
});

test('the innermost frame of a Python traceback in the repository has the error', () => {
  const log = `Traceback (most recent call last):
  File "/data/builds/dep_01abc/source/manage.py", line 22, in <module>
    main()
  File "/data/builds/dep_01abc/source/shop/settings.py", line 9, in <module>
    KEY = os.environ["KEY"]
  File "/usr/lib/python3.12/os.py", line 685, in __getitem__
  File "/data/builds/dep_01abc/source/.venv/lib/python3.12/site-packages/x.py", line 3, in y
KeyError: 'KEY'`;
  expect(placesOf(log)).toEqual([['shop/settings.py', 9, "KeyError: 'KEY'"]]);
});

test('nothing outside of the repository is named, and at most 50 places', () => {
  const log = `
../secret/a.ts:1:1 - error TS1
/usr/lib/node.js:1:1: error
/etc/passwd.txt:1:1: error
/x/dep_1/source/../../etc/a.ts:1:1: error
node_modules/next/dist/build.js:1:1: error
    at render (src/app.js:3:5)
npm error code 1, see https://example.test:443/x at 10:42
http://localhost:3000/a.js:1:1
src/zero.ts:0:0: error`;
  expect(placesOf(log)).toEqual([]);
  expect(placesOf('../lib/a.ts:1:1 - error TS1', 'apps/web')[0]?.[0]).toBe('apps/lib/a.ts');
  expect(placesOf('../../../lib/a.ts:1:1 - error TS1', 'apps/web')).toEqual([]);
  const many = Array.from({ length: 80 }, (_, index) => `src/a.ts:${index + 1}:1 - error TS1: x`).join('\n');
  expect(placesOf(many)).toHaveLength(50);
});
