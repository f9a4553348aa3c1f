// Recognises the lines with which tools say that they failed, and what they mean. Pure. Warnings are never errors: they also stand
// in logs of deployments that succeed.
import type { LogLevel } from '@fairlead/ui/lib/log-lines';
import type { NextStep } from '../../common/deployment/failure.ts';

export type Tool =
  | 'npm'
  | 'yarn'
  | 'pnpm'
  | 'pip'
  | 'cargo'
  | 'go'
  | 'node'
  | 'python'
  | 'port'
  | 'permission'
  | 'shell'
  | 'system';

export interface RecognisedError {
  readonly tool: Tool;
  /** Sentence with the reason and the advice; null: the line itself says all. */
  readonly advice: string | null;
  /** Page on which it can be fixed; null: in the repository. */
  readonly step: NextStep | null;
}

interface Rule {
  readonly tool: Tool;
  readonly pattern: RegExp;
  /** Without it, the line is an error that explains nothing by itself. */
  readonly advise?: (match: readonly string[]) => string;
  readonly step?: NextStep;
}

/** Warnings and notices, also of tools that print the word error in them. */
const HARMLESS = [
  /^\s*(?:npm|pnpm|yarn|bun)?\s*(?:warn|warning|notice|info|hint|note)\b/i,
  /^\s*\[?(?:warn|warning|notice|info|debug|trace)\]?[:\s]/i,
  /^\s*\(node:\d+\)/,
  /\b(?:Deprecation|Experimental|User|Future)Warning\b/,
  /^\s*(?:0|no) errors?\b/i,
];

/** Causes stand before symptoms: the first rule that matches a line explains it. */
const RULES: readonly Rule[] = [
  // Ports.
  {
    tool: 'port',
    pattern: /EADDRINUSE.*?[:\s](\d{2,5})\b/,
    advise: ([port]) =>
      `Port ${port} is in use. Listen on the port in the variable PORT, and start the server only once.`,
    step: 'run',
  },
  {
    tool: 'port',
    pattern: /\[Errno 98\]|Address already in use|EADDRINUSE|Port \d+ is (?:already )?in use/i,
    advise: () => 'The port is in use. Listen on the port in the variable PORT, and start the server only once.',
    step: 'run',
  },
  // Permissions.
  {
    tool: 'permission',
    pattern: /(?:EACCES|EPERM): (?:permission denied|operation not permitted), \w+ '([^']+)'/,
    advise: ([path]) => `The app may not write to ${path}. Write to its own folder, to /tmp or to a volume.`,
    step: 'volumes',
  },
  {
    tool: 'permission',
    pattern: /EACCES: permission denied.*?:(\d{1,4})\b|listen EACCES.*?:(\d{1,4})\b/,
    advise: () => 'The app may not listen on that port. Listen on the port in the variable PORT.',
    step: 'run',
  },
  {
    tool: 'permission',
    pattern: /PermissionError: \[Errno 13\] Permission denied: '([^']+)'/,
    advise: ([path]) => `The app may not write to ${path}. Write to its own folder, to /tmp or to a volume.`,
    step: 'volumes',
  },
  {
    tool: 'permission',
    pattern: /Permission denied \(os error 13\)|: Permission denied$|Read-only file system/,
    advise: () =>
      'A command may not read, write or run a file. Check its path, and that scripts are executable in git.',
  },
  // npm, yarn, pnpm.
  {
    tool: 'npm',
    pattern: /npm (?:error|ERR!) Missing script: "?([^"\s]+)/,
    advise: ([name]) => `package.json has no script “${name}”. Add it, or set another command.`,
    step: 'build',
  },
  {
    tool: 'npm',
    pattern: /npm (?:error|ERR!) code ERESOLVE|npm (?:error|ERR!) ERESOLVE/,
    advise: () => 'Two packages need different versions of a third one. Choose versions that agree.',
  },
  {
    tool: 'npm',
    pattern: /npm (?:error|ERR!) (?:404.*Not Found - GET \S+?\/([^/\s]+)(?:\s|$)|code E404)/,
    advise: ([name]) => `The registry has no package ${name ?? 'of that name'}. Correct its name or version.`,
  },
  {
    tool: 'npm',
    pattern: /npm (?:error|ERR!).*(?:package\.json and package-lock\.json|from lock file|existing package-lock)/,
    advise: () => 'The lock file does not match package.json. Run npm install and commit both files.',
  },
  { tool: 'npm', pattern: /^\s*npm (?:error|ERR!)/ },
  {
    tool: 'yarn',
    pattern: /The lockfile would have been modified|Your lockfile needs to be updated/,
    advise: () => 'The lock file does not match package.json. Run yarn install and commit both files.',
  },
  {
    tool: 'yarn',
    pattern: /error Couldn't find (?:package|any versions for) "([^"]+)"/,
    advise: ([name]) => `The registry has no package ${name}. Correct its name or version.`,
  },
  {
    tool: 'yarn',
    pattern: /error Command "([^"]+)" not found|Couldn't find a script named "([^"]+)"/,
    advise: ([name, other]) => `package.json has no script “${name ?? other}”. Add it, or set another command.`,
    step: 'build',
  },
  {
    tool: 'yarn',
    pattern: /^\s*error (?:Command failed|An unexpected error occurred)|^\s*➤ YN\d{4}:.*(?:Error|failed)/,
  },
  {
    tool: 'pnpm',
    pattern: /ERR_PNPM_(?:OUTDATED_LOCKFILE|NO_LOCKFILE|LOCKFILE_CONFIG_MISMATCH)/,
    advise: () => 'The lock file does not match package.json. Run pnpm install and commit both files.',
  },
  {
    tool: 'pnpm',
    pattern: /ERR_PNPM_NO_SCRIPT\S*\s+Missing script: (\S+)/,
    advise: ([name]) => `package.json has no script “${name}”. Add it, or set another command.`,
    step: 'build',
  },
  { tool: 'pnpm', pattern: /ERR_PNPM_[A-Z0-9_]+|^\s*ELIFECYCLE\b/ },
  // pip and Python.
  {
    tool: 'pip',
    pattern:
      /ERROR: (?:No matching distribution found for|Could not find a version that satisfies the requirement) (\S+)/,
    advise: ([name]) => `PyPI has no ${name} for this Python. Correct its name or version.`,
  },
  { tool: 'pip', pattern: /^\s*(?:ERROR: |error: (?:subprocess-exited-with-error|metadata-generation-failed))/ },
  {
    tool: 'python',
    pattern: /ModuleNotFoundError: No module named '([^']+)'/,
    advise: ([name]) => `Python has no module ${name}. Add its package to the requirements.`,
  },
  {
    tool: 'python',
    pattern: /^\s*KeyError: '([A-Z][A-Z0-9_]+)'/,
    advise: ([name]) => `The variable ${name} is not set.`,
    step: 'variables',
  },
  { tool: 'python', pattern: /^\s*Traceback \(most recent call last\):/ },
  {
    tool: 'python',
    pattern:
      /^\s*(?:IndentationError|TabError): |^\s*SyntaxError: (?:invalid syntax|unterminated|unexpected EOF|'.' was never closed)/,
    advise: () => "The app's Python code has a syntax error. Correct the line that the log names.",
  },
  // Cargo.
  {
    tool: 'cargo',
    pattern:
      /^\s*error: (?:no matching package named `([^`]+)`|failed to select a version for (?:the requirement )?`([^`]+)`)/,
    advise: ([name, other]) => `crates.io has no ${name ?? other} of that version. Correct it in Cargo.toml.`,
  },
  {
    tool: 'cargo',
    pattern: /^\s*error: (?:the lock file .* needs to be updated|cannot update the lock file)/,
    advise: () => 'Cargo.lock does not match Cargo.toml. Run cargo build and commit both files.',
  },
  {
    tool: 'cargo',
    pattern: /^\s*error\[E\d{4}\]: |^\s*error: (?:could not compile|linking with|failed to (?:compile|run))/,
  },
  { tool: 'cargo', pattern: /^\s*thread '[^']*' (?:\(\d+\) )?panicked at / },
  // Go.
  {
    tool: 'go',
    pattern: /missing go\.sum entry|no required module provides package (\S+?)[;:]?(?:\s|$)|updates to go\.mod needed/,
    advise: ([name]) =>
      `${name === undefined ? 'go.sum does not match go.mod.' : `go.mod lacks ${name}.`} Run go mod tidy and commit go.mod and go.sum.`,
  },
  { tool: 'go', pattern: /^\s*(?:\.{0,2}\/)?[\w./-]+\.go:\d+:\d+: / },
  { tool: 'go', pattern: /^\s*(?:panic: |fatal error: |go: .*(?:unknown revision|invalid version|not found))/ },
  // Node and its build tools.
  {
    tool: 'node',
    pattern: /Error: Cannot find (?:module|package) '([^']+)'/,
    advise: ([name]) =>
      name?.startsWith('.') === true || name?.startsWith('/') === true
        ? `The file ${name} does not exist. Check its path and its upper and lower case, and that the build writes it.`
        : `Node has no package ${name}. Add it to the dependencies in package.json.`,
  },
  {
    tool: 'node',
    pattern: /Module not found: (?:Error: )?Can't resolve '([^']+)'|failed to resolve import "([^"]+)"/i,
    advise: ([name, other]) => `“${name ?? other}” can't be imported. Add its package, or correct the path.`,
  },
  {
    tool: 'node',
    pattern: /JavaScript heap out of memory/,
    advise: () => 'Node ran out of memory. Give it more in the settings.',
    step: 'build',
  },
  { tool: 'node', pattern: /\berror TS\d+: / },
  { tool: 'node', pattern: /^\s*(?:Failed to compile|Build failed|error during build:|✘ \[ERROR\]|ERROR in )/ },
  {
    tool: 'node',
    pattern: /connect ECONNREFUSED (\S+)|getaddrinfo (?:ENOTFOUND|EAI_AGAIN) (\S+)/,
    advise: ([address, host]) => `Nothing answers at ${address ?? host}. Set the address of the service as a variable.`,
    step: 'variables',
  },
  // Errors of Node and of Python have the same form: a name that ends in Error, and a message.
  { tool: 'node', pattern: /^\s*(?:Uncaught )?(?:[\w$.]*Error|[\w$.]*Exception)(?: \[\w+\])?: \S/ },
  // Shells and the system.
  {
    tool: 'shell',
    pattern:
      /(?:^|\s)(?:\S*sh|env): (?:line )?(?:\d+: )?'?([\w./@+-]+)'?: (?:command )?(?:not found|No such file or directory)/,
    advise: ([name]) => `There is no program ${name}. Add the package that provides it, or correct the command.`,
    step: 'build',
  },
  {
    tool: 'system',
    pattern: /ENOSPC|No space left on device/,
    advise: () => "The server's disk is full. Free some space, then retry.",
    step: 'server',
  },
  { tool: 'system', pattern: /^\s*(?:fatal|FATAL|CRITICAL|PANIC): |^\s*\[?(?:error|fatal|panic)\]?: \S/i },
];

/** Null: the line reports no error. */
export function recogniseError(text: string): RecognisedError | null {
  if (HARMLESS.some((pattern) => pattern.test(text))) return null;
  for (const { tool, pattern, advise, step } of RULES) {
    const match = pattern.exec(text);
    if (match === null) continue;
    return { tool, advice: advise === undefined ? null : advise(match.slice(1)), step: step ?? null };
  }
  return null;
}

const WARNING =
  /^\s*(?:npm|pnpm|yarn|bun)?\s*\[?(?:warn|warning)\b|\b(?:Deprecation|Experimental|User|Future)Warning\b/i;

/** Level of a line of a build; only errors are red. */
export function levelOfLine(text: string): LogLevel | null {
  if (recogniseError(text) !== null) return 'error';
  return WARNING.test(text) ? 'warn' : null;
}
