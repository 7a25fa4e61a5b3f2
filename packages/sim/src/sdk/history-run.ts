import { ClientError, type Device } from '@tidemark/client';
import { Ledger } from './ledger.ts';
import type { SdkPlant } from './plant.ts';
import { SdkDevice } from './sdk-device.ts';
import { SdkServer } from './sdk-server.ts';
import {
  type Attributes,
  attributeOf,
  DEVICE_USERS,
  DISK_DEVICE,
  GROUPS,
  type GroupSource,
  MANY_GROUPS,
  type Owner,
  type SdkHistory,
  type Step,
  TABBED_DEVICE,
  USERS,
  type WrittenSource,
} from './step.ts';

interface Picked {
  readonly index: number;
  readonly tab: number;
  readonly source: WrittenSource;
  readonly pick: number;
}

type StepOf<K extends Step['kind']> = Extract<Step, { readonly kind: K }>;

/** The server, its devices, and the model of what they must have. */
export class HistoryRun {
  readonly server: SdkServer;
  readonly ledger = new Ledger();
  readonly devices: readonly SdkDevice[];
  readonly members = new Map<string, Set<string>>(USERS.map((user) => [user, new Set()]));
  /** Users with groups that they were not in at some moment after they wrote to it. */
  readonly #left = new Set<string>();

  constructor(history: SdkHistory, plant: SdkPlant) {
    this.server = new SdkServer(history.seed, plant);
    this.devices = DEVICE_USERS.map(
      (user, index) =>
        new SdkDevice(this.server, {
          ...{ user, host: `device-${index}.test`, isTabbed: index === TABBED_DEVICE, isOnDisk: index === DISK_DEVICE },
          ...{ isLive: history.areLive[index] === true, isWatched: history.hasVersions },
        }),
    );
  }

  async open(): Promise<void> {
    await this.server.open();
    for (const device of this.devices) await device.open();
  }

  device(index: number): SdkDevice {
    const device = this.devices[index];
    if (device === undefined) throw new Error(`there is no device ${index}`);
    return device;
  }

  groupsOf(user: string): readonly string[] {
    return [...(this.members.get(user) ?? [])].sort();
  }

  /** True: the user was not in the group at some time, so a change to it may be refused. */
  mayRefuse(user: string, group: string | null): boolean {
    return group !== null && this.#left.has(`${user} ${group}`);
  }

  async put({ source, group, id }: StepOf<'put'>): Promise<void> {
    const v = this.ledger.nextValue();
    if (source !== 'Order') {
      const attributes = this.server.versions.stated(source, { g: group, last: v });
      await this.server.tidemark.objects.push({ source, group, objects: { [id]: attributes } });
      return;
    }
    for (const user of USERS) {
      const attributes = this.server.versions.stated(source, { last: v });
      await this.server.tidemark.objects.push({ source, user_id: user, objects: { [id]: attributes } });
    }
  }

  async remove({ source, group, id }: StepOf<'remove'>): Promise<void> {
    const whose = source === 'Order' ? USERS.map((user) => ({ user_id: user })) : [{ group }];
    for (const owner of whose) await this.server.tidemark.objects.pushDeletes({ source, ...owner, objects: [id] });
  }

  async move({ source, group, to, id }: StepOf<'move'>): Promise<void> {
    await this.server.tidemark.objects.move({ source, from: group, to, objects: [id] });
  }

  async join(user: string, groups: readonly string[]): Promise<void> {
    await this.server.tidemark.groups.add(user, groups);
    for (const group of groups) this.members.get(user)?.add(group);
  }

  async leave(user: string, group: string): Promise<void> {
    await this.server.tidemark.groups.remove(user, [group]);
    this.members.get(user)?.delete(group);
    this.#left.add(`${user} ${group}`);
  }

  async joinMany({ user, failing }: StepOf<'join_many'>): Promise<void> {
    this.server.failing = new Set(MANY_GROUPS.slice(0, failing));
    await this.join(user, MANY_GROUPS);
  }

  async create({ device: index, tab, source, pick }: StepOf<'create'>): Promise<void> {
    const sdk = this.device(index);
    const groups = this.groupsOf(sdk.user).filter((group) => (GROUPS as readonly string[]).includes(group));
    const group = source === 'Order' ? null : (groups[pick % Math.max(1, groups.length)] ?? null);
    const device = sdk.at(tab);
    if (device === null || (group === null && source !== 'Order')) return;
    await this.#create(index, device, this.#owner(index, source, group), group === null ? {} : { group });
  }

  async update({ device: index, tab, source, pick }: StepOf<'update'>): Promise<void> {
    const value = this.ledger.nextValue();
    const of = this.server.person(this.device(index).user);
    await this.#change({ index, tab, source, pick }, { [attributeOf(index)]: value, last: value, of });
  }

  /** Removes the attribute that only the device writes. */
  async clear({ device: index, tab, source, pick }: StepOf<'clear'>): Promise<void> {
    await this.#change({ index, tab, source, pick }, { [attributeOf(index)]: undefined });
  }

  /** A device that is new writes while it can only sign in. Then it synchronises. */
  async createBeforeSync({ device: index, source }: StepOf<'create_before_sync'>): Promise<void> {
    const sdk = this.device(index);
    const [group = null, ...others] = this.groupsOf(sdk.user);
    if (source !== 'Order' && (group === null || others.length > 0)) return;
    await sdk.closeAll();
    sdk.forgetFiles();
    this.ledger.excuseDevice(index);
    this.server.blocked.set(sdk.host, ['/sources', '/pull', '/push']);
    await sdk.open();
    const device = sdk.at(0);
    if (device !== null) await this.#create(index, device, this.#owner(index, source, group), {});
    this.server.blocked.delete(sdk.host);
    await sdk.sync();
  }

  async follow({ device: index, tab, source, groups }: StepOf<'follow'>): Promise<void> {
    const sdk = this.device(index);
    const device = sdk.at(tab);
    if (device === null) return;
    if (!(await this.#isMade(device.source(source).follow({ groups })))) return;
    if (groups === null) sdk.followed.delete(source);
    else sdk.followed.set(source, groups);
  }

  async restart({ device: index, isKilled }: StepOf<'restart'>): Promise<void> {
    const sdk = this.device(index);
    if (isKilled) sdk.killAll();
    else await sdk.closeAll();
    await sdk.open();
    sdk.setOffline(sdk.isOffline);
  }

  async wipe(index: number): Promise<void> {
    const sdk = this.device(index);
    const client = sdk.running[0]?.status.getSnapshot().clientId ?? null;
    if (client === null) return;
    await this.server.tidemark.clients.wipes.order(client, 'admin');
    this.ledger.excuseDevice(index);
    sdk.followed.clear();
    sdk.setOffline(false);
    await sdk.sync();
    await this.server.platform.advance(1_000);
    await sdk.signIn();
  }

  async replaceUser(user: string): Promise<void> {
    await this.server.replaceUser(user);
    for (const group of [...GROUPS, ...MANY_GROUPS]) this.#left.add(`${user} ${group}`);
    this.members.get(user)?.clear();
    for (const [index, sdk] of this.devices.entries()) {
      if (sdk.user !== user) continue;
      this.ledger.excuseDevice(index);
      sdk.followed.clear();
      sdk.setOffline(false);
      await sdk.sync();
      await sdk.signInAgain();
    }
  }

  /** Where data of the written sources can be. */
  owners(): readonly Owner[] {
    const ofGroups = (['Visit', 'Task'] as const).flatMap((source) =>
      GROUPS.map((group) => ({ source, group, user: null })),
    );
    return [...ofGroups, ...USERS.map((user) => ({ source: 'Order', group: null, user }) as const)];
  }

  /** The groups whose objects the device shows. */
  shownGroups({ user, followed }: SdkDevice, source: GroupSource | 'Trip'): readonly string[] {
    const chosen = source === 'Trip' ? undefined : followed.get(source);
    return this.groupsOf(user).filter((group) => chosen === undefined || chosen.includes(group));
  }

  #owner(index: number, source: WrittenSource, group: string | null): Owner {
    return source === 'Order' ? { source, group: null, user: this.device(index).user } : { source, group, user: null };
  }

  async #create(index: number, device: Device, owner: Owner, options: { readonly group?: string }): Promise<void> {
    const made = this.ledger.nextValue();
    const of = this.server.person(this.device(index).user);
    const attributes = { made, of, ...(owner.group === null ? {} : { g: owner.group }) };
    const stated = this.device(index).stated(device, owner.source, attributes);
    const isMade = await this.#isMade(device.source<Record<string, unknown>>(owner.source).create(stated, options));
    if (isMade) this.ledger.add({ device: index, owner, id: null, value: made });
  }

  /** Changes one of the objects that the device shows. */
  async #change({ index, tab, source: name, pick }: Picked, changes: Attributes): Promise<void> {
    const sdk = this.device(index);
    const device = sdk.at(tab);
    if (device === null) return;
    const source = device.source<Record<string, unknown>>(name);
    const known = (await sdk.shown(device, name)).filter(({ id }) => id.startsWith('u'));
    const { id } = known[pick % Math.max(1, known.length)] ?? { id: '' };
    // It may have changed while the list was read.
    const object = source.get(id);
    if (object === undefined) return;
    const { g } = sdk.canonical(device, name, object.attributes);
    const owner = this.#owner(index, name, typeof g === 'string' ? g : null);
    const isMade = await this.#isMade(source.update(object.id, sdk.stated(device, name, changes)));
    const value = changes[attributeOf(index)] as string | undefined;
    if (isMade) this.ledger.add({ device: index, owner, id: object.id, value });
  }

  /** False: the SDK refuses the change, and has not stored it. */
  #isMade(change: Promise<unknown>): Promise<boolean> {
    const made = change.then(
      () => true,
      (error: unknown) => {
        if (error instanceof ClientError) return false;
        throw error;
      },
    );
    return this.server.platform.finish(made);
  }
}
