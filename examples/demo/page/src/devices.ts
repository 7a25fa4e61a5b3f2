import { type Device, openDevice } from '@tidemark/client';
import { openIndexedDbStore } from '@tidemark/client/indexeddb-store';
import type { Session } from './demo-server.ts';
import { NetworkSwitch } from './network-switch.ts';

/** Somebody in the demo, with a device. */
export interface Seat {
  readonly login: string;
  readonly name: string;
  readonly place: string;
  readonly isDispatcher: boolean;
  readonly network: NetworkSwitch;
  readonly device: Device;
  /** To be called when the server may be back. */
  readonly reconnect: () => Promise<void>;
}

const PEOPLE = [
  { login: 'dispatch', name: 'Dispatch', place: 'Head office', isDispatcher: true },
  { login: 'crew-north', name: 'Crew North', place: 'Northmoor', isDispatcher: false },
  { login: 'crew-harbour', name: 'Crew Harbour', place: 'Port Alder', isDispatcher: false },
] as const;

/** Of the names of databases and of settings in the local storage. */
const PREFIX = 'tidemark-demo-';
const RECEIPT_DELAY_MS = 200;

export async function openSeats(session: Session): Promise<readonly Seat[]> {
  await forgetEarlierStarts(session);
  return await Promise.all(PEOPLE.map((person) => openSeat(session, person)));
}

/** Opens a device. It has its own database and its own network, so it is as real as one in another pocket. */
async function openSeat(session: Session, person: (typeof PEOPLE)[number]): Promise<Seat> {
  const { login } = person;
  const name = `${PREFIX}${session.instance}-${login}`;
  const network = new NetworkSwitch(name);
  const device = await openDevice({
    url: session.url,
    store: await openIndexedDbStore({ name }),
    about: { app: 'Field service demo', name: person.name },
    platform: { network, fetch: network.fetch },
    // Photos are on every device before somebody looks at them without a network.
    files: { prefetch: { Photo: 'all' } },
  });
  presentTidemarkSoon(device);
  const seat = { ...person, network, device, reconnect: reconnecting(device, { login, password: session.password }) };
  void seat.reconnect();
  network.onChange(() => void seat.reconnect());
  return seat;
}

/**
 * Returns what to do when the network or the server may be back. A device retries by itself, after a pause that grows to a
 * minute; an app that knows better ends the pause by `sync`. After a reload a device is still signed in and has its data.
 */
function reconnecting(device: Device, credentials: { readonly login: string; readonly password: string }) {
  const work = async () => {
    if (device.status.getSnapshot().userId !== null) return await device.sync();
    await device.signIn(credentials);
    // Pings come through the event stream. On a phone this would be the address for APNs, FCM or Web Push.
    await device.describe({ device_type: 'live' });
  };
  let isTrying = false;
  return async () => {
    if (isTrying || !device.status.getSnapshot().isOnline) return;
    isTrying = true;
    // What fails is shown by the status of the device, and tried again.
    await work().catch(() => undefined);
    isTrying = false;
  };
}

/**
 * The SDK acknowledges a live change within ten seconds, at a random moment, so that ten thousand devices do not answer one
 * event at once. There are three here and somebody is watching their gauges: a sync presents the tidemark at once.
 */
function presentTidemarkSoon(device: Device): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (device.status.getSnapshot().isLive) device.sync().catch(() => undefined);
    }, RECEIPT_DELAY_MS);
  };
  for (const source of ['WorkOrder', 'Part', 'PartUse', 'Photo']) device.source(source).subscribe(soon);
}

/** Every start of the demo has new data; what devices of earlier starts have stored is of no use any more. */
async function forgetEarlierStarts({ instance }: Session): Promise<void> {
  const isEarlier = (name: string) => name.startsWith(PREFIX) && !name.includes(instance);
  for (const key of Object.keys(localStorage).filter(isEarlier)) localStorage.removeItem(key);
  for (const { name = '' } of (await indexedDB.databases?.()) ?? []) {
    if (isEarlier(name)) indexedDB.deleteDatabase(name);
  }
}
