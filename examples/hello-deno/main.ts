// Answers every request with a greeting, on the port that PORT names.
Deno.serve({ hostname: '127.0.0.1', port: Number(Deno.env.get('PORT')) }, () => new Response('Hello from Deno\n'));
