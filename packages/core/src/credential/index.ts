export { rotateKey } from './rotate-key.ts';
export * from './schema.ts';
export { createSshKey } from './ssh-key.ts';
export { writeCredential } from './store.ts';
export { deleteCredential, listCredentials, updateCredential } from './update-credential.ts';
