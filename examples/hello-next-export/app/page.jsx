export default function Page() {
  return <h1>Hello from a Next.js export</h1>;
}
