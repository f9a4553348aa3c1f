module.exports = {
  title: 'Hello',
  url: 'https://hello.example',
  baseUrl: '/',
  presets: [['classic', { docs: { routeBasePath: '/', sidebarPath: undefined }, blog: false }]],
};
