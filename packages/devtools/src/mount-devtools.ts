import type { Device } from '@tidemark/client';
import { button, setText } from './elements.ts';
import { Panel } from './panel.ts';
import { devtoolsStyles } from './styles.ts';

export type DevtoolsPosition = 'bottom-right' | 'bottom-left' | 'top-right' | 'top-left';

export interface DevtoolsOptions {
  /** The corner of the window. Default: `bottom-right`. */
  readonly position?: DevtoolsPosition;
  /** The title of button and panel, for pages with several devices. Default: `Tidemark`. */
  readonly label?: string;
  /** True: the panel is open at once. Default: only its button shows. */
  readonly open?: boolean;
}

/**
 * Adds a button to the page that opens a panel with the state of a device. Returns the function that removes both. The
 * page cannot style the panel, and the panel does not style the page.
 */
export function mountDevtools(device: Device, options: DevtoolsOptions = {}): () => void {
  const { position = 'bottom-right', label = 'Tidemark', open = false } = options;
  const host = document.createElement('tidemark-devtools');
  host.className = position;
  const root = host.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [devtoolsStyles()];
  const panel = new Panel(device, label, () => close());
  const toggle = button('', () => {
    show(true);
    panel.element.querySelector('button')?.focus();
  });
  toggle.className = 'toggle';
  const showLabel = () => setText(toggle, `${label}${countsOf(device)}`);
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
  showLabel();
  const unsubscribe = device.status.subscribe(showLabel);
  show(open);
  return () => {
    unsubscribe();
    panel.stop();
    host.remove();
  };
}

function countsOf(device: Device): string {
  const { isOnline, pendingUploads, problems } = device.status.getSnapshot();
  const counts = [pendingUploads > 0 ? `${pendingUploads} to send` : '', problems > 0 ? `${problems} refused` : ''];
  return [isOnline ? '' : 'offline', ...counts].map((part) => (part === '' ? '' : ` · ${part}`)).join('');
}
