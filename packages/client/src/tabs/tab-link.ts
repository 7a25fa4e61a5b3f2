import { TAB_PING_MS } from '../limits.ts';
import type { Platform, TabChannel, TabFeatures } from '../ports/platform.ts';
import { randomId } from '../uploads/random-id.ts';
import type { SnapshotMessage, TabMessage } from './tab-messages.ts';

interface TabLinkParts {
  readonly name: string;
  readonly tabs: TabFeatures;
  readonly platform: Platform;
  readonly isClosed: () => boolean;
  readonly take: (message: TabMessage) => void;
  /** Takes a message that is for this tab alone. */
  readonly takeOwn: (message: SnapshotMessage) => void;
}

/** The channels between the tabs that share a device: one of all tabs, and one of each. */
export class TabLink {
  readonly tabId: string;
  readonly #parts: TabLinkParts;
  readonly #channel: TabChannel;
  readonly #ownChannel: TabChannel;

  constructor(parts: TabLinkParts) {
    const { name, tabs, platform, take, takeOwn } = parts;
    this.#parts = parts;
    this.tabId = randomId(platform);
    this.#channel = tabs.openChannel(name, (message) => take(message as TabMessage));
    this.#ownChannel = this.#openOwn(this.tabId, (message) => takeOwn(message as SnapshotMessage));
  }

  /** A tab that is being closed sends nothing but changes of the app that are not stored. */
  post(message: TabMessage): void {
    if (!this.#parts.isClosed() || message.type === 'write') this.#channel.post(message);
  }

  /** Asks the tab that leads for the whole state. */
  askForState(): void {
    this.post({ type: 'hello', from: this.tabId });
  }

  /** Sends messages to one tab. */
  async send(tabId: string, work: (post: (message: SnapshotMessage) => void) => Promise<void>): Promise<void> {
    const channel = this.#openOwn(tabId, () => undefined);
    try {
      await work((message) => channel.post(message));
    } finally {
      // A channel that is closed at once would lose what was posted last in some browsers.
      this.#parts.platform.after(TAB_PING_MS, () => channel.close());
    }
  }

  close(): void {
    this.#channel.close();
    this.#ownChannel.close();
  }

  #openOwn(tabId: string, take: (message: unknown) => void): TabChannel {
    return this.#parts.tabs.openChannel(`${this.#parts.name}:${tabId}`, take);
  }
}
