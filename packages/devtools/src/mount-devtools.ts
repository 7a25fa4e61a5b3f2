import type { Device } from '@tidemark/client';
import { button, setText } from './elements.ts';
import { Panel } from './panel.ts';
import { devtoolsStyles } from './styles.ts';

export type DevtoolsPosition = 'bottom-right' | 'bottom-left' | 'top-right' | 'top-left';

export interface DevtoolsOptions {
  /** The corner of the window. Default: `bottom-right`. */
  readonly position?: DevtoolsPosition;
  /** True: the panel is open at once. Default: only its button shows. */
  readonly open?: boolean;
}

/**
 * Adds a button to the page that opens a panel with the state of a device. Returns the function that removes both. The
 * page cannot style the panel, and the panel does not style the page.
 */
export function mountDevtools(device: Device, options: DevtoolsOptions = {}): () => void {
  const { position = 'bottom-right', open = false } = options;
  const host = document.createElement('tidemark-devtools');
  host.className = position;
  const root = host.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [devtoolsStyles()];
  const panel = new Panel(device, () => close());
  const toggle = button('', () => {
    show(true);
    panel.element.querySelector('button')?.focus();
  });
  toggle.className = 'toggle';
  const label = () => setText(toggle, labelOf(device));
  const show = (isOpen: boolean) => {
    toggle.hidden = isOpen;
    panel.element.hidden = !isOpen;
    if (isOpen) panel.start();
    else panel.stop();
  };
  const close = () => {
    show(false);
    toggle.focus();
  };
  panel.element.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') close();
  });
  root.append(toggle, panel.element);
  document.body.append(host);
  label();
  const unsubscribe = device.status.subscribe(label);
  show(open);
  return () => {
    unsubscribe();
    panel.stop();
    host.remove();
  };
}

function labelOf(device: Device): string {
  const { isOnline, pendingUploads, problems } = device.status.getSnapshot();
  const counts = [pendingUploads > 0 ? `${pendingUploads} to send` : '', problems > 0 ? `${problems} refused` : ''];
  return ['Tidemark', isOnline ? '' : 'offline', ...counts].filter((part) => part !== '').join(' · ');
}
