export function GET() {
  return Response.json({ hello: 'Next.js' });
}
