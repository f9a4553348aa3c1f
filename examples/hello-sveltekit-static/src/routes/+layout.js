// The server renders nothing: the browser draws every page.
export const ssr = false;
