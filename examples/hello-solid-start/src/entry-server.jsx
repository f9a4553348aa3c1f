import { createHandler, StartServer } from '@solidjs/start/server';

function Page(props) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        {props.assets}
      </head>
      <body>
        <div id="app">{props.children}</div>
        {props.scripts}
      </body>
    </html>
  );
}

export default createHandler(() => <StartServer document={Page} />);
