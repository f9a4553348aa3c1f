// `npm run check:secrets`: plants secrets in a running control plane and on a real server, and searches for them
// everywhere else. The last line is the count; exits with 0 only when nothing was found.
import { startAgentDrill } from './agent-drill.ts';
import { startDrill } from './drill.ts';
import { search } from './search.ts';

const note = (line: string) => console.log(line);
const sum = { planted: 0, searched: 0, found: 0 };
for (const start of [startDrill, startAgentDrill]) {
  const drill = await start(note);
  try {
    const places = await drill.collect();
    const findings = search(places, drill.planted);
    for (const { place, secret, form } of findings) console.log(`found: ${secret}, ${form}, in ${place}`);
    sum.planted += drill.planted.length;
    sum.searched += places.length;
    sum.found += findings.length;
  } finally {
    await drill.stop();
  }
}
console.log(`secrets planted ${sum.planted}, places searched ${sum.searched}, found ${sum.found}`);
process.exitCode = sum.found === 0 && sum.planted > 0 && sum.searched > 0 ? 0 : 1;
