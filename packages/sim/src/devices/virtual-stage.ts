import { type Device, openDevice } from '@tidemark/client';
import type { Tidemark } from '@tidemark/core';
import { type PushRequest, parseJson } from '@tidemark/protocol';
import { CrashingStore, Dice, InProcessSync, newTidemark, seededRandom, VirtualPlatform } from '@tidemark/testing/kit';
import type { Flaws, MakeStage, PlainObjects, SeenUpload, Stage, StageOptions } from './stage.ts';
import type { Place } from './step.ts';

/** What may happen to a message, with its chance in percent while the network is bad. */
const FATES = [
  ['lost', 12],
  ['unanswered', 8],
  ['answer_lost', 14],
  ['doubled', 8],
  ['cut', 8],
  ['refused', 4],
] as const;

/** Everything in one process and in virtual time: thousands of histories, each the same whenever it is run again. */
export class VirtualStage implements Stage {
  readonly #tidemark: Tidemark;
  readonly #sync: InProcessSync;
  readonly #dice: Dice;
  readonly #flaws: Flaws;
  readonly #options: StageOptions;
  readonly #stores: CrashingStore[];
  readonly #platforms: VirtualPlatform[] = [];
  readonly #pulls: number[];
  readonly #uploads: SeenUpload[] = [];
  #isBad = false;
  #lives = 0;

  private constructor(tidemark: Tidemark, options: StageOptions, flaws: Flaws) {
    this.#flaws = flaws;
    this.#tidemark = tidemark;
    this.#sync = new InProcessSync(tidemark, () => 1_700_000_000_000);
    this.#dice = new Dice(seededRandom(options.seed ^ 0x5eed));
    this.#options = options;
    this.#stores = options.users.map(() => new CrashingStore([], null));
    this.#pulls = options.users.map(() => 0);
  }

  static with(flaws: Flaws = {}): MakeStage {
    return async (options) => {
      const { tidemark } = await newTidemark();
      return new VirtualStage(tidemark, options, flaws);
    };
  }

  async openDevice(index: number): Promise<Device> {
    const { damage = (rows) => rows } = this.#flaws;
    const store = new CrashingStore(damage(await (this.#stores[index] as CrashingStore).survivors()), null);
    this.#stores[index] = store;
    // Every life of a device has dice of its own: ids must not come twice.
    const seed = this.#options.seed * 1_000 + this.#lives++;
    const platform: VirtualPlatform = new VirtualPlatform((url, init) => this.#carry(index, platform, url, init), seed);
    this.#platforms[index] = platform;
    const { pageObjects } = this.#options;
    const device = await openDevice({
      url: 'http://tidemark.test',
      store,
      platform,
      pageObjects,
      live: this.#dice.chance(50),
    });
    if (device.status.getSnapshot().mode !== 'signed_out') return device;
    const login = this.#options.users[index] as string;
    await this.finish(device.signIn({ login, password: 'long enough' }));
    return device;
  }

  async killDevice(index: number, device: Device): Promise<void> {
    await this.letGo(this.#dice.below(3));
    (this.#stores[index] as CrashingStore).die();
    this.#platforms[index]?.forgetTimers();
    // Closing what is dead has no effect, save that it stops asking.
    void device.close();
  }

  /** In one process there is nothing to kill; what a server forgets is what it never promised. */
  async killServer(): Promise<void> {
    this.#sync.endStreams();
  }

  async put({ source, user }: Place, objects: PlainObjects): Promise<void> {
    await this.#tidemark.pushObjects({ source, ...(user === null ? {} : { user_id: user }), objects });
  }

  async delete({ source, user }: Place, ids: readonly string[]): Promise<void> {
    await this.#tidemark.pushDeletes({ source, ...(user === null ? {} : { user_id: user }), objects: ids });
  }

  async read({ source, user }: Place): Promise<PlainObjects> {
    return Object.fromEntries(
      await this.#tidemark.readObjects({ source, ...(user === null ? {} : { user_id: user }) }),
    );
  }

  setBadNetwork(isBad: boolean): void {
    this.#isBad = isBad;
  }

  async letGo(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await this.#turn();
  }

  async finish<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    promise.then(done, done);
    for (let turn = 0; !isDone; turn++) {
      if (turn > 20_000) throw new Error('nothing moves any more');
      await this.#turn();
    }
    return promise;
  }

  pulls(device: number): number {
    return this.#pulls[device] ?? 0;
  }

  uploads(): readonly SeenUpload[] {
    return this.#uploads;
  }

  async close(): Promise<void> {
    for (const platform of this.#platforms) platform.forgetTimers();
  }

  /** Devices have clocks of their own, so each of them moves on by itself. */
  async #turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (const platform of this.#platforms) platform.tick();
  }

  async #carry(index: number, platform: VirtualPlatform, url: string, given: RequestInit): Promise<Response> {
    const init = this.#corrupted(url, given);
    const fate = this.#drawFate();
    if (fate === 'lost') throw new TypeError('the connection was refused');
    if (fate === 'refused') return Response.json({ code: 'overloaded', detail: 'later' }, { status: 503 });
    this.#note(index, url, init);
    if (fate === 'doubled') await this.#sync.fetch(url, init);
    const response = await this.#sync.fetch(url, init);
    if (fate === 'answer_lost') throw new TypeError('the connection broke');
    if (fate === 'unanswered') return platform.hang(init);
    if (fate !== 'cut' || url.endsWith('/events')) return response;
    const text = await response.text();
    return new Response(text.slice(0, this.#dice.below(text.length + 1)), { status: response.status });
  }

  #corrupted(url: string, init: RequestInit): RequestInit {
    const { corrupt } = this.#flaws;
    if (typeof init.body !== 'string' || corrupt === undefined) return init;
    return { ...init, body: corrupt(new URL(url).pathname, Buffer.from(init.body)).toString() };
  }

  #note(index: number, url: string, init: RequestInit): void {
    const { pathname } = new URL(url);
    if (pathname.endsWith('/pull')) this.#pulls[index] = (this.#pulls[index] ?? 0) + 1;
    if (!pathname.endsWith('/push')) return;
    for (const upload of (parseJson(String(init.body)) as PushRequest).changes) {
      this.#uploads.push({ device: index, opId: upload.op_id, text: JSON.stringify(upload) });
    }
  }

  #drawFate(): (typeof FATES)[number][0] | 'arrives' {
    let left = this.#dice.below(100);
    if (!this.#isBad) return 'arrives';
    for (const [fate, percent] of FATES) {
      left -= percent;
      if (left < 0) return fate;
    }
    return 'arrives';
  }
}
