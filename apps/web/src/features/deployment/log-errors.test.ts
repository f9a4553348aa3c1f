// Tests of the recognised errors, with lines as the tools write them.
import { describe, expect, test } from 'vitest';
import { levelOfLine, recogniseError, type Tool } from './log-errors.ts';

test.each<[Tool, string, string | null]>([
  ['npm', 'npm error Missing script: "build"', 'package.json has no script “build”.'],
  ['npm', 'npm ERR! code ERESOLVE', 'Two packages need different versions'],
  ['npm', 'npm error 404 Not Found - GET https://registry.npmjs.org/leftpadd - Not found', 'no package leftpadd'],
  ['npm', 'npm error code E404', 'The registry has no package'],
  [
    'npm',
    'npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.',
    'Run npm install',
  ],
  ['npm', 'npm error Lifecycle script `build` failed with error:', null],
  [
    'yarn',
    '➤ YN0028: │ The lockfile would have been modified by this install, which is explicitly forbidden.',
    'Run yarn install',
  ],
  [
    'yarn',
    'error Couldn\'t find package "leftpadd@^1.0.0" required by "shop@1.0.0" on the "npm" registry.',
    'leftpadd@^1.0.0',
  ],
  ['yarn', 'error Command "biuld" not found.', 'no script “biuld”'],
  ['yarn', 'error Command failed with exit code 2.', null],
  [
    'pnpm',
    ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile" because pnpm-lock.yaml is not up to date with package.json',
    'Run pnpm install',
  ],
  ['pnpm', ' ERR_PNPM_NO_SCRIPT  Missing script: build', 'no script “build”'],
  ['pnpm', ' ELIFECYCLE  Command failed with exit code 1.', null],
  ['pip', 'ERROR: No matching distribution found for djnago==5.2', 'PyPI has no djnago==5.2'],
  ['pip', 'error: subprocess-exited-with-error', null],
  ['cargo', 'error[E0425]: cannot find value `prot` in this scope', null],
  ['cargo', 'error: could not compile `shop` (bin "shop") due to 1 previous error', null],
  ['cargo', 'error: no matching package named `axumm` found', 'no axumm'],
  [
    'cargo',
    'error: the lock file /build/Cargo.lock needs to be updated but --locked was passed to prevent this',
    'Cargo.lock',
  ],
  ['cargo', "thread 'main' (4242) panicked at src/main.rs:12:34:", null],
  ['go', './main.go:14:2: undefined: prot', null],
  [
    'go',
    'main.go:5:2: no required module provides package github.com/go-chi/chi/v5; to add it:',
    'go.mod lacks github.com/go-chi/chi/v5',
  ],
  ['go', 'go: github.com/go-chi/chi/v5@v5.2.1: missing go.sum entry for go.mod file', 'Run go mod tidy'],
  ['go', 'panic: runtime error: invalid memory address or nil pointer dereference', null],
  ['node', "Error: Cannot find module 'express'", 'Node has no package express.'],
  ['node', "Error: Cannot find module '/app/dist/server.js'", 'The file /app/dist/server.js does not exist.'],
  ['node', "TypeError: Cannot read properties of undefined (reading 'map')", null],
  ['node', "Module not found: Can't resolve '@/lib/db'", "“@/lib/db” can't be imported."],
  ['node', "src/index.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.", null],
  ['node', 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory', 'ran out of memory'],
  ['node', 'Error: connect ECONNREFUSED 127.0.0.1:5432', 'Nothing answers at 127.0.0.1:5432.'],
  ['python', "ModuleNotFoundError: No module named 'flask'", 'Python has no module flask.'],
  ['python', "KeyError: 'DATABASE_URL'", 'The variable DATABASE_URL is not set.'],
  ['python', 'Traceback (most recent call last):', null],
  ['python', 'SyntaxError: invalid syntax', 'syntax error'],
  ['port', 'Error: listen EADDRINUSE: address already in use :::3000', 'Port 3000 is in use.'],
  ['port', 'OSError: [Errno 98] Address already in use', 'The port is in use.'],
  ['port', 'Error: Address already in use (os error 98)', 'The port is in use.'],
  ['permission', "Error: EACCES: permission denied, rmdir '/srv/app/dist'", 'may not write to /srv/app/dist.'],
  ['permission', 'Error: listen EACCES: permission denied 0.0.0.0:80', 'may not listen on that port'],
  [
    'permission',
    "PermissionError: [Errno 13] Permission denied: '/var/lib/shop.db'",
    'may not write to /var/lib/shop.db.',
  ],
  ['permission', 'sh: 1: ./build.sh: Permission denied', 'scripts are executable in git'],
  ['shell', 'sh: 1: vite: not found', 'no program vite'],
  ['shell', '/bin/bash: line 1: uvicorn: command not found', 'no program uvicorn'],
  ['system', 'write /data/x: No space left on device', 'disk is full'],
])('%s: %s', (tool, text, advice) => {
  const found = recogniseError(text);
  expect(found?.tool).toBe(tool);
  if (advice === null) expect(found?.advice).toBeNull();
  else expect(found?.advice).toContain(advice);
  expect(levelOfLine(text)).toBe('error');
});

describe('what is no error', () => {
  test.each([
    'npm warn Unknown env config "tmp". This will stop working in the next major version of npm.',
    'npm warn deprecated inflight@1.0.6: This module is not supported, and leaks memory.',
    'npm notice New major version of npm available! 10.9.0 -> 11.0.0',
    '(node:4242) [DEP0040] DeprecationWarning: The `punycode` module is deprecated.',
    'warning: unused variable: `error`',
    'WARNING: Running pip as the root user can result in broken permissions',
    'added 212 packages, and audited 213 packages in 4s',
    'found 0 vulnerabilities',
    '0 errors, 0 warnings',
    'dist/error-page-BX1f.js   2.31 kB │ gzip: 1.02 kB',
    ' ✓ src/errors.test.ts (12 tests)',
    'Compiling thiserror v2.0.3',
    'Collecting exceptiongroup==1.2.2',
    'INFO:     Application startup complete.',
    'Listening on 3000',
  ])('%s', (text) => {
    expect(recogniseError(text)).toBeNull();
    expect(levelOfLine(text)).not.toBe('error');
  });

  test('warnings are warnings', () => {
    expect(levelOfLine('npm warn deprecated inflight@1.0.6')).toBe('warn');
    expect(levelOfLine('warning: unused variable')).toBe('warn');
    expect(levelOfLine('added 3 packages')).toBeNull();
  });
});
