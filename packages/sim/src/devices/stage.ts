import type { Device, LocalRow } from '@tidemark/client';
import type { JsonValue } from '@tidemark/protocol';
import type { Place } from './step.ts';

export type PlainObjects = Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;

/** What a push told the server, whether or not the device ever heard the answer. */
export interface SeenUpload {
  readonly device: number;
  readonly opId: string;
  /** The whole upload as JSON. */
  readonly text: string;
}

/** Where a history takes place: a server, a network that can be bad, and devices that can die. */
export interface Stage {
  /** The device as it comes up from what it kept; signed in. */
  openDevice(index: number): Promise<Device>;
  /** Its process dies: what it kept by now is all there is. */
  killDevice(index: number, device: Device): Promise<void>;
  /** The server dies and comes up again. */
  killServer(): Promise<void>;
  put(place: Place, objects: PlainObjects): Promise<void>;
  delete(place: Place, ids: readonly string[]): Promise<void>;
  read(place: Place): Promise<PlainObjects>;
  setBadNetwork(isBad: boolean): void;
  /** Lets everybody do something for a while. */
  letGo(turns: number): Promise<void>;
  /** Waits for something while the others go on. */
  finish<T>(promise: Promise<T>): Promise<T>;
  /** Pulls of the device that reached the server. */
  pulls(device: number): number;
  uploads(): readonly SeenUpload[];
  close(): Promise<void>;
}

export interface StageOptions {
  readonly seed: number;
  readonly users: readonly string[];
  readonly pageObjects: number;
}

export type MakeStage = (options: StageOptions) => Promise<Stage>;

/** What is wrong with a network, for simulations that must notice: it changes what devices say. */
export type Corrupt = (path: string, body: Buffer) => Buffer;

/** All that may be wrong on purpose. */
export interface Flaws {
  readonly corrupt?: Corrupt;
  /** What a device finds after its process died. */
  readonly damage?: (rows: readonly LocalRow[]) => readonly LocalRow[];
}
