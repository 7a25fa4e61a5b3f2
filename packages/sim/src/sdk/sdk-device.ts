import { type Device, openDevice, type SyncedObject } from '@tidemark/client';
import { AppProcess, Browser, DeviceFiles } from './app-process.ts';
import { DiskFiles } from './disk-files.ts';
import type { SdkServer } from './sdk-server.ts';
import { type GroupSource, SOURCES, type SourceName, TABS } from './step.ts';

interface Tab {
  readonly process: AppProcess;
  readonly device: Device;
}

export interface SdkDeviceOptions {
  readonly host: string;
  readonly user: string;
  readonly isTabbed: boolean;
  /** True: its sources are on the disk. */
  readonly isOnDisk: boolean;
  readonly isLive: boolean;
}

/** A device of a user: what it has stored, and the tabs or the process in which it runs. */
export class SdkDevice {
  readonly user: string;
  readonly host: string;
  /** The groups that the app follows, by source; absent: all. */
  readonly followed = new Map<GroupSource, readonly string[]>();
  isOffline = false;
  readonly #server: SdkServer;
  readonly #options: SdkDeviceOptions;
  readonly #browser: Browser | null;
  readonly #tabs: (Tab | null)[] = [];
  #files: DeviceFiles | DiskFiles;

  constructor(server: SdkServer, options: SdkDeviceOptions) {
    this.#server = server;
    this.#options = options;
    this.user = options.user;
    this.host = options.host;
    this.#browser = options.isTabbed ? new Browser() : null;
    this.#files = this.#newFiles();
  }

  /** The devices of all tabs that are open and not frozen. */
  get running(): readonly Device[] {
    return this.#tabs.flatMap((tab) => (tab === null || tab.process.isFrozen ? [] : tab.device));
  }

  /** The device of the tab, or of another one that runs; null: none does. */
  at(tab: number): Device | null {
    const chosen = this.#tabs[tab];
    return chosen !== null && chosen !== undefined && !chosen.process.isFrozen
      ? chosen.device
      : (this.running[0] ?? null);
  }

  async open(tab = 0): Promise<void> {
    if (this.#tabs[tab] !== null && this.#tabs[tab] !== undefined) return;
    const process = new AppProcess();
    const opening = openDevice({
      url: `http://${this.host}`,
      store: this.#files.open(process),
      platform: process.platform(
        this.#server.platform,
        this.#browser?.tabs(process) ?? null,
        this.#server.plant.delayed,
      ),
      live: this.#options.isLive,
    });
    const device = await this.#server.platform.finish(opening);
    this.#tabs[tab] = { process, device };
    if (this.#options.isOnDisk) for (const name of SOURCES) device.source(name, { keep: 'disk' });
    await this.signIn();
  }

  /** Signs in if that is needed. */
  async signIn(): Promise<void> {
    const device = this.running[0];
    if (device === undefined || this.isOffline) return;
    const { mode } = device.status.getSnapshot();
    if (mode === 'signed_out' || mode === 'needs_sign_in') await this.#signInAs(device);
  }

  /** Signs in whatever the session is, after the person of the login was replaced. */
  async signInAgain(): Promise<void> {
    // What a tab that was frozen writes before it signs in is still of the person before, and is lost.
    if (this.running.length === 0) for (const tab of this.#tabs) tab?.process.thaw();
    const device = this.running[0];
    if (device !== undefined) await this.#signInAs(device);
  }

  async close(tab: number): Promise<void> {
    const closed = this.#tabs[tab] ?? null;
    this.#tabs[tab] = null;
    if (closed === null) return;
    closed.process.thaw();
    await this.#server.platform.finish(closed.device.close());
  }

  kill(tab: number): void {
    const killed = this.#tabs[tab] ?? null;
    this.#tabs[tab] = null;
    if (killed === null) return;
    killed.process.kill();
    this.#browser?.bury(killed.process);
  }

  freeze(tab: number): void {
    this.#tabs[tab]?.process.freeze();
  }

  thaw(tab: number): void {
    this.#tabs[tab]?.process.thaw();
  }

  async closeAll(): Promise<void> {
    for (let tab = 0; tab < TABS; tab++) await this.close(tab);
  }

  killAll(): void {
    for (let tab = 0; tab < TABS; tab++) this.kill(tab);
  }

  /** Another device takes the place of this one. */
  forgetFiles(): void {
    this.#files = this.#newFiles();
    this.followed.clear();
    this.isOffline = false;
  }

  setOffline(isOffline: boolean): void {
    this.isOffline = isOffline;
    for (const device of this.running) {
      if (isOffline) device.goOffline();
      else device.goOnline();
    }
  }

  async sync(tab = 0): Promise<void> {
    const device = this.at(tab);
    // It may fail, for example because the device is offline.
    if (device !== null) await this.#server.platform.finish(device.sync().catch(() => undefined));
  }

  /** The objects that a device shows, wherever they are kept. */
  shown(device: Device, source: SourceName): Promise<readonly SyncedObject[]> {
    return this.#server.platform.finish(device.source(source).query().fetch());
  }

  async #signInAs(device: Device): Promise<void> {
    const credentials = { login: this.user, password: this.#server.password(this.user) };
    const first = device.signIn(credentials).then(
      () => true,
      () => false,
    );
    if (await this.#server.platform.finish(first)) return;
    // It holds changes of somebody else.
    await this.#server.platform.finish(device.signIn(credentials, { discardUploads: true }));
  }

  #newFiles(): DeviceFiles | DiskFiles {
    if (this.#options.isOnDisk) return new DiskFiles(this.#server.plant);
    return new DeviceFiles(this.#options.isTabbed ? 'app' : null, this.#server.plant.found);
  }
}
