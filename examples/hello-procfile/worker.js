// A process without a port: it works until it is stopped.
const timer = setInterval(() => console.log('The worker works.'), 60_000);
process.once('SIGTERM', () => clearInterval(timer));
