import type {
  AdminSession,
  Appserver,
  AppserverChecks,
  AuditFact,
  AuditPage,
  BackendFailures,
  BackendSecret,
  License,
  ResetReport,
  SettingInForce,
  StatStep,
  WebPushKey,
} from '@tidemark/protocol';
import type { CallOptions, Transport } from '../../transport/transport.ts';
import { everyItem, type PageOptions, pageQuery } from '../paging.ts';

export interface MetricRange extends CallOptions {
  /** Index of the first step, as for a list; negative counts from the end. */
  readonly start?: number;
  /** Index of the last step, inclusive. */
  readonly finish?: number;
}

export type AdminCredentials =
  | { readonly login: string; readonly password: string }
  /** An ID token for the client id of the server's setting `admin_sign_in`. */
  | { readonly idToken: string };

export interface AuditSearchOptions extends PageOptions {
  /** The login of the person who did it. */
  readonly actor?: string;
  /** The action, or with a dot at the end all that begin so, such as `user.`. */
  readonly action?: string;
  /** The name of the user, device, source, group or object that it is about. */
  readonly about?: string;
  /** From this moment on, as in `2030-01-31T12:00:00Z`, or from this day on. */
  readonly from?: string;
  /** Before this moment. */
  readonly to?: string;
}

const STATS = '/rc/v1/system/stats';

/** The server itself. */
export class SystemCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /** The only call that needs no token. */
  logIn(credentials: AdminCredentials, options?: CallOptions) {
    const body =
      'idToken' in credentials
        ? { id_token: credentials.idToken }
        : { login: credentials.login, password: credentials.password };
    return this.#api.post<AdminSession>('/rc/v1/system/login', body, 'harmful', options);
  }

  license(options?: CallOptions): Promise<License> {
    return this.#api.get('/rc/v1/system/license', options);
  }

  /** Every setting with its value and origin. Secrets are masked. */
  settings(options?: CallOptions): Promise<readonly SettingInForce[]> {
    return this.#api.get('/rc/v1/system/settings', options);
  }

  /** Deletes all users, devices and data. Needs the scope `admin:reset`. */
  reset(options?: CallOptions): Promise<ResetReport> {
    return this.#api.post('/rc/v1/system/reset', {}, 'harmful', options);
  }

  appserver(options?: CallOptions): Promise<Appserver> {
    return this.#api.get('/rc/v1/system/appserver', options);
  }

  /** Sets the URL of the backend; null removes it. */
  setAppserver(adapterUrl: string | null, options?: CallOptions): Promise<Appserver> {
    return this.#api.post('/rc/v1/system/appserver', { adapter_url: adapterUrl }, 'harmless', options);
  }

  /**
   * Makes Tidemark call the backend and check its answers, the signature, logins and each source. `user` is the user whose
   * data is requested; absent: the caller.
   */
  checkAppserver({ user, ...options }: CallOptions & { readonly user?: string } = {}): Promise<AppserverChecks> {
    const body = user === undefined ? {} : { user_id: user };
    return this.#api.post('/rc/v1/system/appserver/check', body, 'harmless', options);
  }

  /** The last calls to the backend that failed, newest first, with the words of the backend. */
  appserverFailures(options?: CallOptions): Promise<BackendFailures> {
    return this.#api.get('/rc/v1/system/appserver/failures', options);
  }

  /** Returns the secret that signs calls to the backend; null when it is set in the server's configuration. */
  backendSecret(options?: CallOptions): Promise<BackendSecret> {
    return this.#api.get('/rc/v1/system/backend_secret', options);
  }

  /** Returns the `applicationServerKey` for push subscriptions of browsers. */
  webPushKey(options?: CallOptions): Promise<WebPushKey> {
    return this.#api.get('/rc/v1/system/web_push_key', options);
  }

  /** Metric keys that match a pattern in which `*` stands for anything. */
  metricNames(pattern = '*', options?: CallOptions): Promise<readonly string[]> {
    return this.#api.get(STATS, options, { names: pattern });
  }

  /** The steps of one metric, oldest first. */
  metric(key: string, { start, finish, ...options }: MetricRange = {}): Promise<readonly StatStep[]> {
    return this.#api.get(STATS, options, { metric: key, start, finish });
  }
}

/** The audit trail, newest first. */
export class AuditCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  list(page: PageOptions = {}): Promise<readonly AuditFact[]> {
    return this.#api.get('/rc/v1/audit', page, pageQuery(page));
  }

  /**
   * Entries by person, action, subject and time, newest first. A page may be empty and not the last: go on with `next`
   * as `after` until it is null.
   */
  search({ actor, action, about, from, to, ...page }: AuditSearchOptions = {}): Promise<AuditPage> {
    return this.#api.get('/rc/v1/audit/search', page, { ...pageQuery(page), actor, action, about, from, to });
  }

  every(options?: CallOptions): AsyncGenerator<AuditFact, void> {
    return everyItem(
      (page) => this.list(page),
      ({ id }) => id,
      options,
    );
  }
}
