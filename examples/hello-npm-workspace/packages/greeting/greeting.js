/** @param {string} name */
export function greeting(name) {
  return `Hello from ${name}`;
}
