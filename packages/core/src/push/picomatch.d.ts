// Types of picomatch, as much of it as this feature uses.
declare module 'picomatch' {
  function picomatch(glob: string, options?: { readonly dot?: boolean }): (path: string) => boolean;
  export = picomatch;
}
