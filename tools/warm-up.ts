// `fairlead warm-up`: loads the programs of the control plane into Node's compile cache and starts none. An update runs it while
// the previous version still serves: it shows that the new one can run here, and shortens its start.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ROOT } from './lib/command.ts';
import { layOut } from './start/folders.ts';

/** Modules that services start from; the scripts themselves would start them. */
const MODULES = ['apps/gateway/src/gateway.ts', 'apps/worker/src/worker.ts', 'tools/start/serve.ts'];

const { values } = parseArgs({ options: { data: { type: 'string' } } });
if (values.data !== undefined) enableCompileCache(layOut(values.data).startCache);
await Promise.all(MODULES.map((module) => import(pathToFileURL(join(ROOT, module)).href)));
process.exit(0);
