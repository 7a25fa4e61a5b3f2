import { type Device, openDevice, type SyncedObject } from '@tidemark/client';
import { DiskFiles } from '../model/disk-files.ts';
import { AppProcess, Browser, DeviceFiles } from './app-process.ts';
import { statedIn } from './app-versions.ts';
import { type AppVersion, shownIn, versionsOf } from './schema-versions.ts';
import type { SdkServer } from './sdk-server.ts';
import { type Attributes, type GroupSource, SOURCES, type SourceName, TABS } from './step.ts';

const ALL_CALLS = ['/login', '/token', '/sources', '/pull', '/push', '/ack', '/events'];

interface Tab {
  readonly process: AppProcess;
  readonly device: Device;
  readonly app: AppVersion;
}

export interface SdkDeviceOptions {
  readonly host: string;
  readonly user: string;
  readonly isTabbed: boolean;
  /** True: its sources are on the disk. */
  readonly isOnDisk: boolean;
  readonly isLive: boolean;
  /** True: every change that the app sees is checked. */
  readonly isWatched: boolean;
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
  /** What is installed. Tabs that are open may run an older app. */
  #app: AppVersion;

  constructor(server: SdkServer, options: SdkDeviceOptions) {
    this.#server = server;
    this.#options = options;
    this.user = options.user;
    this.host = options.host;
    this.#browser = options.isTabbed ? new Browser() : null;
    this.#files = this.#newFiles();
    this.#app = server.versions.newest;
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
    const app = this.#app;
    const versions =
      this.#server.plant.built === undefined ? versionsOf(app) : this.#server.plant.built(versionsOf(app));
    const opening = openDevice({
      url: `http://${this.host}`,
      store: this.#files.open(process),
      platform: process.platform(
        this.#server.platform,
        this.#browser?.tabs(process) ?? null,
        this.#server.plant.delayed,
      ),
      live: this.#options.isLive,
      ...(versions === undefined ? {} : { versions }),
    });
    const device = await this.#server.platform.finish(opening);
    this.#tabs[tab] = { process, device, app };
    if (this.#options.isOnDisk) for (const name of SOURCES) device.source(name, { keep: 'disk' });
    if (this.#options.isWatched) for (const name of SOURCES) this.#watch(device, app, name);
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
    this.#app = this.#server.versions.newest;
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

  /** Ends a tab, and opens the newest app in its place. */
  async updateApp(tab: number, isKilled: boolean): Promise<void> {
    this.#app = this.#server.versions.newest;
    const place = this.#options.isTabbed ? tab : 0;
    if (isKilled) this.kill(place);
    else await this.close(place);
    // A device starts with the network, unless there is none.
    if (this.isOffline) this.#server.blocked.set(this.host, ALL_CALLS);
    await this.open(place);
    this.setOffline(this.isOffline);
    this.#server.blocked.delete(this.host);
  }

  /** The objects that a device shows, wherever they are kept, with the attributes as the ledger knows them. */
  async shown(device: Device, source: SourceName): Promise<readonly SyncedObject<Attributes>[]> {
    const objects = await this.#server.platform.finish(device.source(source).query().fetch());
    return objects.map((object) => ({ ...object, attributes: this.canonical(device, source, object.attributes) }));
  }

  /** Attributes as the app of the device calls them. */
  stated(device: Device, source: SourceName, attributes: Attributes): Attributes {
    return statedIn(this.#appOf(device).get(source) ?? 1, attributes);
  }

  canonical(
    device: Device,
    source: SourceName,
    attributes: Attributes,
  ): typeof attributes & SyncedObject['attributes'] {
    return shownIn(this.#appOf(device), source, attributes, this.host) as SyncedObject['attributes'];
  }

  #appOf(device: Device): AppVersion {
    return this.#tabs.find((tab) => tab?.device === device)?.app ?? this.#app;
  }

  /** Checks every change as the app sees it. */
  #watch(device: Device, app: AppVersion, source: SourceName): void {
    const query = this.#options.isOnDisk ? device.source(source).query() : null;
    const check = () => {
      const objects = query === null ? device.source(source).list() : query.getSnapshot();
      try {
        for (const { attributes } of objects) shownIn(app, source, attributes, this.host);
      } catch (error) {
        this.#server.violations.push(error);
      }
    };
    if (query === null) device.source(source).subscribe(check);
    else query.subscribe(check);
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
