export default defineEventHandler(() => ({ hello: 'Nuxt' }));
