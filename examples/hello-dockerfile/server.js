// Answers every request with a greeting, on the port that PORT names.
const { createServer } = require('node:http');

createServer((_request, response) => response.end('Hello from a container\n')).listen(Number(process.env.PORT));
