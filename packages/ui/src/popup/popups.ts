// Chunk of the popups, which `popups.tsx` loads.
export { FilterPopup } from './filter-popup.tsx';
export { MenuPopup } from './menu-popup.tsx';
export { PanelPopup } from './panel-popup.tsx';
export { ToastRegion } from './toast-region.tsx';
