// Answers every request with a greeting, on the port that PORT names.
Bun.serve({ hostname: '127.0.0.1', port: Number(process.env.PORT), fetch: () => new Response('Hello from Bun\n') });
