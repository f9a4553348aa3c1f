// Checks the import rules over the whole repository: `node tools/verify/imports.ts`.
import { readGraph } from './imports/graph.ts';
import { type Breach, checkRules } from './imports/rules.ts';

export function checkImports(root: string): Breach[] {
  return checkRules(readGraph(root));
}

if (import.meta.main) {
  const breaches = checkImports(process.cwd());
  for (const { rule, file, line, message } of breaches) console.log(`${file}:${line} [${rule}] ${message}`);
  if (breaches.length > 0) process.exit(1);
}
