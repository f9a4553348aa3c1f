export { rotateKey } from './rotate-key.ts';
export * from './schema.ts';
export { createSshKey } from './ssh-key.ts';
export { deleteCredential, listCredentials, updateCredential } from './update-credential.ts';
