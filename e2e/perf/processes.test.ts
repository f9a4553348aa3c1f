import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { startServingOnSocket, stopProcess } from './processes.ts';

/** Program that serves on the socket of its last argument until its standard input ends. */
const SERVER = `
  const server = require('node:net').createServer().listen(process.argv.at(-1), () => {
    console.log(JSON.stringify({ address: 'unix:' + process.argv.at(-1) }));
  });
  process.stdin.resume().on('end', () => server.close());
`;

it("lets every user reach an app's socket, and removes its folder", async () => {
  const { child, address } = await startServingOnSocket(process.execPath, ['-e', SERVER, '--']);
  const socket = address.replace('unix:', '');
  const modes = [socket, dirname(socket)].map((path) => statSync(path).mode & 0o777);
  await stopProcess(child);
  expect(modes).toEqual([0o666, 0o711]);
  expect(existsSync(dirname(socket))).toBe(false);
});
