export function loader() {
  return Response.json({ hello: 'React Router' });
}
