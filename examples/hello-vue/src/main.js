import { createApp } from 'vue';
import HelloPage from './hello-page.vue';

createApp(HelloPage).mount('#app');
