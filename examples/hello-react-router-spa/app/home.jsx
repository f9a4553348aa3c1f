export default function Home() {
  return <h1>Hello from React Router</h1>;
}
