import type {
  DebugReport,
  Device,
  LoggedCall,
  PendingUpload,
  SourceReport,
  UploadProblem,
  WaitingFile,
} from '@tidemark/client';
import { button, element, setText, Table } from './elements.ts';
import { StatusList, timeOf } from './status-list.ts';

/** How long changes are collected before the panel looks at the device again. */
const REFRESH_MS = 100;
/** The log of calls tells nobody of news. */
const POLL_MS = 1_000;

type NumberedCall = LoggedCall & { readonly key: string };

/** The open panel. It follows the device from `start` to `stop`. */
export class Panel {
  readonly element: HTMLElement;
  readonly #device: Device;
  readonly #message = element('p', { class: 'message', role: 'status' });
  /** Focusable, so that it can be scrolled by the keyboard. */
  readonly #details = element('div', { class: 'body', tabindex: '0', role: 'region', 'aria-label': 'Details' });
  readonly #status = new StatusList();
  readonly #sources = sourceTable();
  readonly #uploads = uploadTable();
  readonly #problems: Table<UploadProblem>;
  readonly #files = fileTable();
  readonly #calls = callTable();
  readonly #network: HTMLButtonElement;
  readonly #startOver: HTMLElement;
  #isKeptOffline = false;
  #stops: readonly (() => void)[] = [];
  #refreshTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(device: Device, label: string, onClose: () => void) {
    this.#device = device;
    this.#problems = this.#problemTable();
    this.#network = button('Go offline', () => this.#toggleNetwork());
    this.#startOver = button('Start over', () =>
      this.#do('The device fetches everything again.', () => this.#device.startOver()),
    );
    const heading = element('h2', { id: 'title' }, label);
    const actions = element(
      'div',
      { class: 'actions', role: 'group', 'aria-label': 'Actions' },
      button('Sync now', () => this.#do('The device is in step with the server.', () => device.sync())),
      this.#network,
      button('Copy report', () => this.#do('The report is in the clipboard.', () => copyReport(device))),
      this.#startOver,
    );
    const tables = [this.#problems, this.#uploads, this.#files, this.#sources, this.#calls].map(
      (table) => table.element,
    );
    this.#details.append(this.#status.element, ...tables);
    this.element = element(
      'section',
      { class: 'panel', role: 'dialog', 'aria-labelledby': 'title' },
      element('header', {}, heading, button('Close', onClose)),
      actions,
      this.#message,
      this.#details,
    );
  }

  start(): void {
    const { status, uploads, problems, files } = this.#device;
    const soon = () => {
      this.#refreshTimer ??= setTimeout(() => this.#refresh(), REFRESH_MS);
    };
    const timer = setInterval(soon, POLL_MS);
    this.#stops = [
      ...[status, uploads, problems, files.waiting].map((observable) => observable.subscribe(soon)),
      () => clearInterval(timer),
      () => clearTimeout(this.#refreshTimer),
    ];
    this.#refresh();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.#refreshTimer = undefined;
  }

  #refresh(): void {
    this.#refreshTimer = undefined;
    const device = this.#device;
    this.#status.show(device.status.getSnapshot());
    this.#uploads.show(device.uploads.list());
    this.#files.show(device.files.waiting.getSnapshot());
    this.#problems.show(device.problems.list());
    void device.debug().then(
      (report) => this.#showReport(report),
      () => undefined,
    );
  }

  #showReport({ sources, calls, status: { sourceTroubles } }: DebugReport): void {
    this.#sources.show(sources.map((source) => ({ ...source, trouble: sourceTroubles[source.name]?.detail ?? '' })));
    const seen = new Map<string, number>();
    const numbered = calls.map((call) => {
      const name = `${call.atMs} ${call.method} ${call.path}`;
      const count = (seen.get(name) ?? 0) + 1;
      seen.set(name, count);
      return { ...call, key: `${name} ${count}` };
    });
    this.#calls.show(numbered.reverse());
  }

  #toggleNetwork(): void {
    this.#isKeptOffline = !this.#isKeptOffline;
    if (this.#isKeptOffline) this.#device.goOffline();
    else this.#device.goOnline();
    setText(this.#network, this.#isKeptOffline ? 'Go online' : 'Go offline');
    setText(this.#message, this.#isKeptOffline ? 'The device uses no network.' : 'The device uses the network.');
  }

  #problemTable(): Table<UploadProblem> {
    const { problems } = this.#device;
    return new Table<UploadProblem>('Refused changes', {
      columns: ['Change', 'Object', 'Why', 'Action'],
      empty: 'The server has refused nothing.',
      keyOf: ({ opId }) => opId,
      cells: ({ op, status, source, id, error }) => [
        `${op}, ${status}`,
        `${source} ${id}`,
        `${error.code}: ${error.detail}`,
      ],
      buttons: ({ opId }) => [
        button('Retry', () => this.#handle('The change is made again.', () => problems.retry(opId))),
        button('Dismiss', () => this.#handle('The problem is dismissed.', () => problems.dismiss(opId))),
      ],
    });
  }

  /** The button goes with the problem, so the focus moves first. */
  #handle(done: string, work: () => Promise<unknown>): void {
    this.#details.focus();
    this.#do(done, work);
  }

  /** Says how it went. */
  #do(done: string, work: () => Promise<unknown>): void {
    setText(this.#message, 'Working …');
    work().then(
      () => setText(this.#message, done),
      (error: unknown) => setText(this.#message, error instanceof Error ? error.message : String(error)),
    );
  }
}

async function copyReport(device: Device): Promise<void> {
  await navigator.clipboard.writeText(JSON.stringify(await device.debug(), null, 2));
}

function sourceTable(): Table<SourceReport & { readonly trouble: string }> {
  return new Table<SourceReport & { readonly trouble: string }>('Sources', {
    columns: ['Name', 'Objects', 'Next pull', 'Last complete', 'Repairs', 'Trouble'],
    empty: 'The device knows no source yet.',
    keyOf: ({ name }) => name,
    cells: ({ name, objects, hasToken, stagedPages, syncedAtMs, heals, trouble }) => [
      name,
      String(objects),
      stagedPages > 0 ? `after ${stagedPages} pages` : hasToken ? 'changes' : 'everything',
      timeOf(syncedAtMs),
      String(heals),
      trouble,
    ],
  });
}

function uploadTable(): Table<PendingUpload> {
  return new Table<PendingUpload>('Waiting uploads', {
    columns: ['Change', 'Object', 'State', 'Made'],
    empty: 'Everything is sent.',
    keyOf: ({ opId }) => opId,
    cells: ({ op, source, id, state, madeAtMs }) => [op, `${source} ${id}`, state, timeOf(madeAtMs)],
  });
}

function fileTable(): Table<WaitingFile> {
  return new Table<WaitingFile>('Waiting files', {
    columns: ['Name', 'Bytes', 'State', 'Added'],
    empty: 'The server has every file of this device.',
    keyOf: ({ file }) => file.sha256,
    cells: ({ file, state, sinceMs }) => [file.name ?? file.type, String(file.size), stateText(state), timeOf(sinceMs)],
  });
}

function stateText(state: WaitingFile['state']): string {
  if (state.status === 'failed') return `failed: ${state.error.detail}`;
  return 'part' in state ? `${state.status} ${Math.floor(state.part * 100)} %` : state.status;
}

function callTable(): Table<NumberedCall> {
  return new Table<NumberedCall>('Last calls to the server', {
    columns: ['Time', 'Call', 'Status', 'Took'],
    empty: 'This tab has made no call.',
    keyOf: ({ key }) => key,
    cells: ({ atMs, method, path, status, tookMs }) => [
      timeOf(atMs),
      `${method} ${path}`,
      status === null ? 'no answer' : String(status),
      `${tookMs} ms`,
    ],
  });
}
