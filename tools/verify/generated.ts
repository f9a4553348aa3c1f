// Regenerates the contract's TypeScript and compares it with the committed code. The Rust half is the test `generated`
// of the wire crate, which needs no code generator either.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, run } from '../lib/command.ts';

const CONTRACT = join(ROOT, 'packages/contract');
const COMMITTED = join(CONTRACT, 'src/gen');

export async function checkGenerated(): Promise<string[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-gen-'));
  try {
    // `--output` is prefixed to the template's own `out`.
    const result = await run('buf', ['generate', '--output', scratch], { cwd: CONTRACT });
    if (result.code !== 0) return [`buf generate failed: ${result.output.trim()}`];
    const fresh = join(scratch, 'src/gen');
    const names = new Set([...globSync('**/*.ts', { cwd: fresh }), ...globSync('**/*.ts', { cwd: COMMITTED })]);
    if (names.size === 0) return ['buf generate wrote nothing'];
    return [...names].sort().flatMap((name) => {
      if (!existsSync(join(fresh, name)))
        return [`packages/contract/src/gen/${name} is no longer generated: delete it`];
      if (!existsSync(join(COMMITTED, name))) return [`packages/contract/src/gen/${name} is missing: npm run gen`];
      const same = readFileSync(join(fresh, name), 'utf8') === readFileSync(join(COMMITTED, name), 'utf8');
      return same ? [] : [`packages/contract/src/gen/${name} is not what the .proto files generate: npm run gen`];
    });
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

if (import.meta.main) {
  const findings = await checkGenerated();
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
