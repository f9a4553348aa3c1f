export default { title: 'Hello' };
