import { createRoot } from 'react-dom/client';

createRoot(document.getElementById('app')).render(<h1>Hello from Create React App</h1>);
