// `npm run check:secrets`: plants secrets in a running control plane and looks for them everywhere else. Its last line is
// the count; the exit code is zero only when nothing was found.
import { startDrill } from './drill.ts';
import { search } from './search.ts';

const drill = await startDrill((line) => console.log(line));
try {
  const places = await drill.collect();
  const findings = search(places, drill.planted);
  for (const { place, secret, form } of findings) console.log(`found: ${secret}, ${form}, in ${place}`);
  console.log(`secrets planted ${drill.planted.length}, places searched ${places.length}, found ${findings.length}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
} finally {
  await drill.stop();
}
