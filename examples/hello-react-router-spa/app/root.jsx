import { Links, Meta, Outlet, Scripts } from 'react-router';

export function Layout({ children }) {
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <title>Hello from React Router</title>
        <Meta />
        <Links />
      </head>
      <body>
        {children}
        <Scripts />
      </body>
    </html>
  );
}

/** The build renders this into index.html; the browser replaces it with the page. */
export function HydrateFallback() {
  return <p>Loading</p>;
}

export default function Root() {
  return <Outlet />;
}
