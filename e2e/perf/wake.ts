// Measures the first request to a sleeping app, and a switch, with the agent's own tests and more rounds.
import { run } from '../../tools/lib/command.ts';

const ROUNDS = process.argv[2] ?? '30';
const CARGO = ['test', '--manifest-path', 'agents/Cargo.toml', '--locked', '--workspace', '--test', 'traffic'];

const { output } = await run('cargo', [...CARGO, '--', '--nocapture', '--test-threads', '1'], {
  env: { FAIRLEAD_WAKES: ROUNDS },
});
const figures = output.split('\n').filter((line) => /^(switch|wake from zero): /.test(line));
if (figures.length !== 2) throw new Error(`figures are missing:\n${output}`);
process.stdout.write(`${figures.join('\n')}\n`);
