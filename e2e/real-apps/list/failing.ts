// Apps that Fairlead can't run as they are, with the failure that each must end with.
import type { FailingApp } from '../real-app.ts';

export const FAILING: readonly FailingApp[] = [
  {
    repository: 'heroku/ruby-getting-started',
    commit: 'f6c368e8c46ce91fcec019d4913df759c93a2cba',
    fails: { code: 'build.not_detected', quotes: 'Ruby' },
  },
  {
    repository: 'jekyll/minima',
    commit: 'b3385fe64e9d79e75260668cad1852a3913b1829',
    fails: { code: 'build.not_detected', quotes: 'Ruby' },
  },
  {
    repository: 'heroku/php-getting-started',
    commit: '1062e14abbb0330c0b3d03219c0dc39cca43ecd4',
    fails: { code: 'build.not_detected', quotes: 'PHP' },
  },
  {
    repository: 'laravel/laravel',
    commit: '8a119d7f4461c73b47197b80f4cecb3c97796919',
    fails: { code: 'build.not_detected', quotes: 'PHP' },
  },
  {
    repository: 'heroku/java-getting-started',
    commit: 'bba7dfd16f51698ad539465009232221c0dbb289',
    fails: { code: 'build.not_detected', quotes: 'Java' },
  },
  {
    repository: 'heroku/gradle-getting-started',
    commit: '85d0a0651223a80e5f663d55a9efb0faabc9c72f',
    fails: { code: 'build.not_detected', quotes: 'Java' },
  },
  {
    repository: 'spring-projects/spring-petclinic',
    commit: 'edf4db28affcc4741c79850a3d95bc3f177b5ff9',
    fails: { code: 'build.not_detected', quotes: 'Java' },
  },
  {
    repository: 'heroku/scala-getting-started',
    commit: '0f849476e36336bc4d7c46b5a69bd010567f9689',
    fails: { code: 'build.not_detected', quotes: 'Scala' },
  },
  {
    repository: 'heroku/clojure-getting-started',
    commit: '7cddd8438c77428e76b6aa6d8ca32ff2174ebc89',
    fails: { code: 'build.not_detected', quotes: 'Clojure' },
  },
  {
    repository: 'render-examples/phoenix-distillery',
    commit: '2488a46700786d6ecc930e895cd5c3ea18c00a9c',
    fails: { code: 'build.not_detected', quotes: 'Elixir' },
  },
  {
    repository: 'pillarjs/understanding-csrf',
    commit: '6945ed60219a49e989f1ab3774f08d27fbdd930e',
    fails: { code: 'build.not_detected', quotes: 'Nothing in the repository' },
  },
  {
    repository: 'lodash/lodash',
    commit: '9429a4ee03056e5b7be9a85a54571d7630f05983',
    fails: { code: 'rollout.ended', quotes: 'never listened on a port' },
  },
  {
    repository: 'heroku/node-js-sample',
    commit: '28cdfd8d72324baddeb292f4bdd8a96bb081a463',
    fails: { code: 'build.toolchain_missing', quotes: 'engines' },
  },
  {
    repository: 'postmanlabs/httpbin',
    commit: 'f8ec666b4d1b654e4ff6aedd356f510dcac09f83',
    fails: { code: 'build.toolchain_missing', quotes: '3.6' },
  },
  {
    repository: 'sveltejs/realworld',
    commit: 'e80873cac4e615c96b6b95c6dcbc19699934a188',
    fails: { code: 'build.output_missing', quotes: 'adapter-vercel' },
  },
  {
    repository: 'nextjs/saas-starter',
    commit: 'e0dc5d40ce26c01672557912b533d25e32957ad4',
    fails: { code: 'build.variable_missing', quotes: 'POSTGRES_URL environment variable is not set' },
  },
  {
    repository: 'umami-software/umami',
    commit: 'c0ea3aefbee7a3429ee2f824b06dc4a9dbe0b7e1',
    fails: { code: 'build.variable_missing', quotes: 'DATABASE_URL is not defined' },
  },
  {
    repository: 't3-oss/create-t3-turbo',
    commit: 'e69b5858fc4259fbd44af96eaf774a90dee0adcd',
    rootFolder: 'apps/nextjs',
    fails: { code: 'build.variable_missing', quotes: 'Invalid environment variables' },
  },
  {
    repository: 'render-examples/webhook-receiver',
    commit: 'd58fcc79b35e9a4497cffdc8c1e8857ec4b9c105',
    fails: { code: 'rollout.variable_missing', quotes: 'RENDER_WEBHOOK_SECRET is not set' },
  },
  {
    repository: 'render-examples/actix_todo',
    commit: '32afd450ec6db34a83b346410e59f2b73ab171e6',
    fails: { code: 'build.variable_missing', quotes: "set 'DATABASE_URL' to use query macros online" },
  },
  {
    repository: 'render-examples/django',
    commit: 'fbc60fcb44eebd63cfd45566e6973183e6f75aa4',
    fails: { code: 'rollout.service_unreachable', quotes: 'port 5432 failed: Connection refused' },
  },
  {
    repository: 'remix-run/indie-stack',
    commit: '56abb93bf81f635b574d9ca23eed05602699458a',
    fails: { code: 'rollout.variable_missing', quotes: 'SESSION_SECRET must be set' },
  },
  {
    repository: 'railwayapp-templates/discordpy-bot',
    commit: '082569c0eda05f535d138497090f1737d4d16b26',
    fails: { code: 'rollout.variable_missing', quotes: 'DISCORD_TOKEN' },
  },
];
