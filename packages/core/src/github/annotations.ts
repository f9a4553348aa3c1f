// Finds the build errors in a log that name a file of the repository and a line in it. Pure.
// Invariant: it returns no path outside of the repository.
import { posix } from 'node:path';
import { withoutStyles } from '../kernel/index.ts';

export interface Annotation {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** GitHub takes 50 in one request. */
const annotationsMax = 50;
const messageMax = 500;
const pathMax = 400;

/** Returns each place once, in the order of the log. `rootFolder`: folder in which the commands ran. */
export function annotationsOf(lines: readonly string[], rootFolder: string): Annotation[] {
  const found = new Map<string, Annotation>();
  const pathOf = (file: string) => toRepositoryPath(file, rootFolder);
  for (const { file, line, message } of findErrors(
    lines.map((line) => withoutStyles(line).trimEnd()),
    (file) => pathOf(file) !== null,
  )) {
    const path = pathOf(file);
    if (path === null || line === 0 || found.has(`${path}:${line}`)) continue;
    found.set(`${path}:${line}`, { path, line, message: message.trim().slice(0, messageMax) });
    if (found.size === annotationsMax) break;
  }
  return [...found.values()];
}

interface FoundError {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

const fileName = String.raw`(?:\.{0,2}/)?(?:[\w@.+()[\]-]+/)*[\w@.+()[\]-]+\.[A-Za-z]\w{0,7}`;
/** A file alone in its line: eslint lists its errors below. */
const fileLine = new RegExp(`^(${fileName})$`);
/** eslint: 12:5  error  message  rule. Next.js: 12:5  Error: message. */
const listedError = /^\s*(\d{1,6}):\d{1,6}\s+error:?\s+(.+)$/i;
/** rustc: error[E0425]: message, with the place below it. */
const rustMessage = /^(error|warning)(?:\[\w+\])?: .+/;
const rustPlace = new RegExp(String.raw`^\s*--> (${fileName}):(\d{1,6}):\d{1,6}$`);
/** tsc: a.ts(12,5): error …, or a.ts:12:5 - error …; go, gcc and others: a.go:12:5: message; rollup: a.ts (12:5): … */
const located = new RegExp(
  String.raw`(?:^|\s)(${fileName})(?::(\d{1,6})(?::\d{1,6})?|\((\d{1,6}),\d{1,6}\)| \((\d{1,6}):\d{1,6}\))(:|\s|$)(.*)$`,
);
const esbuildMessage = /^\s*(?:✘|X) \[ERROR\] (.+)$/;
const pythonFrame = /^\s*File "([^"]+)", line (\d{1,6})/;
const pythonMessage = /^(?:[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit))(?::.*)?$/;
const stackFrame = /^\s*at /;
const warning = /\bwarning\b/i;

function findErrors(lines: readonly string[], isOwn: (file: string) => boolean): FoundError[] {
  const errors: FoundError[] = [];
  /** File of a list of errors. */
  let listed: string | null = null;
  /** Message whose place follows it. */
  let announced: string | null = null;
  /** Frames of a Python traceback, the innermost last. */
  let frames: { readonly file: string; readonly line: number }[] = [];

  lines.forEach((text, index) => {
    const header = fileLine.exec(text);
    if (header !== null) {
      listed = header[1] ?? null;
      return;
    }
    const [, at, listedMessage] = listedError.exec(text) ?? [];
    if (listed !== null && at !== undefined) {
      errors.push({ file: listed, line: Number(at), message: listedMessage ?? text });
      return;
    }
    const [, frameFile, frameLine] = pythonFrame.exec(text) ?? [];
    if (frameFile !== undefined) {
      frames.push({ file: frameFile, line: Number(frameLine) });
      return;
    }
    if (frames.length > 0 && pythonMessage.test(text)) {
      // Frames of the interpreter and of libraries lie outside of the repository.
      const frame = frames.findLast(({ file }) => isOwn(file));
      if (frame !== undefined) errors.push({ ...frame, message: text });
      frames = [];
      return;
    }
    const rust = rustMessage.exec(text);
    if (rust !== null) announced = rust[1] === 'error' ? text : null;
    const esbuild = esbuildMessage.exec(text)?.[1];
    if (esbuild !== undefined) announced = esbuild;
    const [, rustFile, rustLine] = rustPlace.exec(text) ?? [];
    if (rustFile !== undefined) {
      if (announced !== null) errors.push({ file: rustFile, line: Number(rustLine), message: announced });
      announced = null;
      return;
    }
    const place = stackFrame.test(text) || warning.test(text) ? null : located.exec(text);
    if (place === null) return;
    const [, file = '', colon, comma, spaced, , rest = ''] = place;
    const message =
      rest.trim() !== '' ? text : (announced ?? lines.slice(index + 1).find((next) => next !== '') ?? text);
    errors.push({ file, line: Number(colon ?? comma ?? spaced), message });
    announced = null;
  });
  return errors;
}

/** Folder of a build's source, as the agent names it. */
const sourceFolder = /^\/(?:[^/]+\/)*dep_[0-9A-Za-z]+\/source\//;
const foreignFolder = /(?:^|\/)(?:node_modules|site-packages|dist-packages|\.next|\.git)\//;

/** Returns null for a path that lies outside of the repository. */
function toRepositoryPath(file: string, rootFolder: string): string | null {
  const isAbsolute = file.startsWith('/');
  if (isAbsolute && !sourceFolder.test(file)) return null;
  const path = posix.normalize(isAbsolute ? file.replace(sourceFolder, '') : posix.join(rootFolder, file));
  if (path.startsWith('../') || path.startsWith('/') || path.length > pathMax || foreignFolder.test(path)) return null;
  return path;
}
