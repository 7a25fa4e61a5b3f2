import { Device, type DeviceCopy } from './device.ts';
import { Network } from './network.ts';
import { Oracle } from './oracle.ts';
import type { OracleState } from './oracle-write.ts';
import { PLACES, type Place, placeKey, SHARED_SOURCE } from './place.ts';
import type { DeviceSpec, History, Query } from './step.ts';
import type { Subject, SubjectState } from './subject.ts';
import { TokenLedger } from './token-ledger.ts';

/** A query under way to the backend. */
export interface QueryInFlight extends Query {
  readonly place: Place;
  /** What the backend saw: it knows nothing of what is written while it answers. */
  readonly seen: OracleState['objects'];
  readonly floor: number;
  readonly life: string;
}

/** A device with everything around it. */
export interface Station {
  readonly spec: DeviceSpec;
  readonly place: Place;
  readonly device: Device;
  readonly network: Network;
  /** Older copies of the device, to be restored one day. */
  readonly copies: DeviceCopy[];
}

export interface SimulatedClock {
  nowMs: number;
}

/** Everything one run of a history works on. */
export class World {
  readonly subject: Subject;
  readonly clock: SimulatedClock;
  readonly oracle = new Oracle();
  readonly tokens = new TokenLedger();
  readonly stations: readonly Station[];
  readonly #written = new Map<string, Place>();
  readonly #states = new Map<string, SubjectState>();
  #queries: QueryInFlight[] = [];

  constructor(subject: Subject, clock: SimulatedClock, history: History) {
    this.subject = subject;
    this.clock = clock;
    this.stations = history.devices.map((spec) => ({
      spec,
      place: placeOf(spec),
      device: new Device(),
      network: new Network(),
      copies: [],
    }));
  }

  station(index: number): Station {
    const station = this.stations[index % this.stations.length];
    if (station === undefined) throw new Error('a history needs at least one device');
    return station;
  }

  /** Makes a user and the devices that belong to it. */
  async createUser(login: string): Promise<void> {
    const clients = this.stations.filter(({ spec }) => spec.user === login).map(({ spec }) => spec.client);
    await this.subject.createUser(login, [...new Set(clients)]);
  }

  noteWrite(place: Place): void {
    this.#written.set(placeKey(place), place);
    this.doubtState(place);
  }

  /** How a partition stands. It is asked for only when something has happened there since. */
  async state(place: Place): Promise<SubjectState> {
    const known = this.#states.get(placeKey(place));
    if (known !== undefined) return known;
    const state = await this.subject.state(place);
    this.#states.set(placeKey(place), state);
    return state;
  }

  doubtState(place: Place): void {
    this.#states.delete(placeKey(place));
  }

  /** The places whose md may have changed since this was last asked. */
  takeWritten(): Place[] {
    const places = [...this.#written.values()];
    this.#written.clear();
    return places;
  }

  addQuery(query: QueryInFlight): void {
    this.#queries.push(query);
  }

  /** Takes one of the queries under way for a place. */
  takeQuery(place: Place, pick: number): QueryInFlight | undefined {
    const candidates = this.#queries.filter((query) => samePlace(query.place, place));
    const query = candidates[pick % Math.max(1, candidates.length)];
    this.#queries = this.#queries.filter((other) => other !== query);
    return query;
  }

  dropQueries(place: Place): void {
    this.#queries = this.#queries.filter((query) => !samePlace(query.place, place));
  }

  /** The partition is gone, and with it everything known about it. Queries about it are still under way. */
  beginLife(place: Place): void {
    this.oracle.beginLife(place);
    this.tokens.forgetPlace(place);
    this.noteWrite(place);
  }
}

function samePlace(left: Place, right: Place): boolean {
  return placeKey(left) === placeKey(right);
}

function placeOf({ source, user }: DeviceSpec): Place {
  const wanted = placeKey({ source, user: source === SHARED_SOURCE ? null : user });
  const place = PLACES.find((candidate) => placeKey(candidate) === wanted);
  if (place === undefined) throw new Error(`no such place: ${wanted}`);
  return place;
}
