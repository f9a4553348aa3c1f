// Tests of the excerpt of a failed deployment, with logs as real tools write them.
import { describe, expect, test } from 'vitest';
import { cutExcerpt, failingLines } from './failing-lines.ts';
import { viewLine } from './merge-log-lines.ts';

function log(text: string, step = 'build') {
  return text
    .trim()
    .split('\n')
    .map((each, index) => {
      const system = each.startsWith('$ ') || each.startsWith('! ');
      return viewLine(
        { step, stream: system ? 'system' : 'stdout', text: each.replace(/^! /, ''), unixMs: index },
        index,
      );
    });
}

function excerpt(text: string, message: string | null = null, step = 'build') {
  const lines = log(text, step);
  const found = failingLines(lines, { message, failedStep: step });
  if (found === null) return null;
  return {
    main: lines[found.main]?.text,
    lines: lines.slice(found.from, found.to).map((line) => line.text),
    advice: found.advice,
    step: found.step,
  };
}

describe('the excerpt', () => {
  test('of an npm script has the error, not the warnings above and the summary below', () => {
    const found = excerpt(`
$ npm run build
npm warn Unknown env config "tmp". This will stop working in the next major version of npm.

> shop@1.0.0 build
> vite build

vite v7.1.0 building for production...
transforming...
✗ Build failed in 312ms
error during build:
[vite]: Rollup failed to resolve import "./cart" from "/build/src/main.ts".
    at viteLog (file:///build/node_modules/vite/dist/node/chunks/dep.js:46:15)
npm error Lifecycle script \`build\` failed with error:
! The command \`npm run build\` failed with exit code 1.`);
    expect(found?.main).toContain('failed to resolve import "./cart"');
    expect(found?.lines).toContain('error during build:');
    expect(found?.lines).not.toContain(expect.stringContaining('npm warn'));
    expect(found?.advice).toBe("“./cart” can't be imported. Add its package, or correct the path.");
  });

  test('of Python has the whole traceback', () => {
    const found = excerpt(
      `
Starting gunicorn
Traceback (most recent call last):
  File "/app/app.py", line 12, in <module>
    main()
  File "/app/app.py", line 8, in main
    url = os.environ["DATABASE_URL"]
          ~~~~~~~~~~^^^^^^^^^^^^^^^^
  File "<frozen os>", line 714, in __getitem__
KeyError: 'DATABASE_URL'
! The app ended with exit code 1.`,
      null,
      'start',
    );
    expect(found?.main).toBe("KeyError: 'DATABASE_URL'");
    expect(found?.lines[0]).toBe('Traceback (most recent call last):');
    expect(found).toMatchObject({ advice: 'The variable DATABASE_URL is not set.', step: 'variables' });
  });

  test('of a Python error without advice is the error, not the head of its traceback', () => {
    const text = 'Traceback (most recent call last):\n  File "/app/a.py", line 1\nshop.PriceError: no price';
    expect(excerpt(text)?.main).toBe('shop.PriceError: no price');
    expect(excerpt(text)?.lines).toHaveLength(3);
  });

  test('of cargo has the place in the code', () => {
    const found = excerpt(`
   Compiling shop v0.1.0 (/build)
error[E0425]: cannot find value \`prot\` in this scope
  --> src/main.rs:14:33
   |
14 |     let address = ("0.0.0.0", prot);
   |                               ^^^^ help: a local variable with a similar name exists: \`port\`

For more information about this error, try \`rustc --explain E0425\`.
error: could not compile \`shop\` (bin "shop") due to 1 previous error`);
    expect(found?.main).toContain('error[E0425]');
    expect(found?.lines).toContain('  --> src/main.rs:14:33');
    expect(found?.advice).toBeNull();
  });

  test('of go, pip and Node names the cause before its consequences', () => {
    expect(excerpt('# example.com/shop\n./main.go:14:2: undefined: prot\n./main.go:15:2: too many errors')?.main).toBe(
      './main.go:14:2: undefined: prot',
    );
    expect(
      excerpt(`
Collecting flask
ERROR: Could not find a version that satisfies the requirement djnago==5.2 (from versions: none)
ERROR: No matching distribution found for djnago==5.2`)?.advice,
    ).toContain('PyPI has no djnago==5.2');
    const node = excerpt(
      `
node:events:485
      throw er; // Unhandled 'error' event
      ^

Error: listen EADDRINUSE: address already in use :::3000
    at Server.setupListenHandle [as _listen2] (node:net:1940:16)
    at listenInCluster (node:net:1997:12)
! The app ended with exit code 1.`,
      null,
      'start',
    );
    expect(node?.main).toBe('Error: listen EADDRINUSE: address already in use :::3000');
    expect(node).toMatchObject({ step: 'run', advice: expect.stringContaining('Port 3000 is in use.') });
  });

  test('has the line that the message quotes, also a truncated one', () => {
    const message = "The command `npm ci` failed with exit code 1: `error: run 'x' now…`. Run `y`, then deploy again.";
    const found = excerpt('$ npm ci\nnpm error code E1\nerror: run `x` now or never\nbye', message);
    expect(found?.main).toBe('error: run `x` now or never');
  });

  test('looks at the step that failed first', () => {
    const lines = [
      ...log('error during build:', 'build'),
      ...log('Error: connect ECONNREFUSED 127.0.0.1:5432', 'start'),
    ];
    expect(failingLines(lines, { message: null, failedStep: 'start' })?.main).toBe(1);
    expect(failingLines(lines, { message: null, failedStep: 'health' })?.main).toBe(1);
  });

  test('without a recognised error has the last lines that the app wrote', () => {
    expect(excerpt('one\ntwo\nlistening on 8080\n\n! It listened on 8080.', null, 'health')).toEqual({
      main: 'listening on 8080',
      lines: ['one', 'two', 'listening on 8080'],
      advice: null,
      step: null,
    });
    expect(excerpt('$ git clone\n! The repository could not be cloned.')).toBeNull();
    expect(failingLines([], { message: 'It failed.', failedStep: null })).toBeNull();
  });

  test('is cut with the same lines, and keeps the numbers that they have in the log', () => {
    const lines = log('one\ntwo\nthree\nfour\nfive\nError: broken\nsix\n');
    const found = failingLines(lines, { message: null, failedStep: 'build' });
    if (found === null) throw new Error('no line was found');
    const cut = cutExcerpt(lines, found);
    expect(cut.lines.map(({ text }) => text)).toEqual(['three', 'four', 'five', 'Error: broken', 'six']);
    expect(cut.lines[cut.failing.main]).toMatchObject({ text: 'Error: broken', id: 'L6' });
    expect(cut.lines.slice(cut.failing.from, cut.failing.to)).toEqual(cut.lines);
  });
});
