// Runs once a deployment, before the new instances get requests: the place of a migration.
console.log('The release command ran.');
