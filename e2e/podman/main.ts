// `npm run check:podman`: repeats the Docker tests with Podman: the agent's container runtime alone, and image apps
// through the whole product on two servers. Needs root and Debian's packages; takes about ten minutes.
import { buildAgent, buildWeb } from '../../tools/start/builds.ts';
import {
  BUSYBOX,
  CURL,
  type DebianProgram,
  IP,
  NGINX,
  OPENSSL,
  REGISTRY,
  requirePrograms,
} from '../../tools/test/debian.ts';
import { add } from '../../tools/test/outcome.ts';
import { runCargoTest, runVitest } from '../../tools/test/runners.ts';

const PODMAN: DebianProgram = { file: '/usr/bin/podman', packages: ['podman', 'runc', 'netavark', 'catatonit'] };
const silent = () => undefined;
const say = (text: string) => process.stdout.write(text);

const missing = await requirePrograms([BUSYBOX, CURL, IP, NGINX, OPENSSL, PODMAN, REGISTRY]);
if (missing !== undefined) throw new Error(missing);
process.env.FAIRLEAD_TEST_ENGINE = 'podman';
const alone = await runCargoTest(['--workspace', '--test', 'runtime', 'containers::'], say);
await buildAgent(silent);
await buildWeb(silent);
const { passed, failed, failures = [] } = add(alone, await runVitest('e2e', say, ['system/containers']));
for (const failure of failures) console.log(failure);
console.log(`passed ${passed}, failed ${failed}`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
