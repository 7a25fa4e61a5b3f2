/**
 * Every bound of the product, with its unit in its name. Whoever exceeds one is refused with the code beside it in
 * docs/limits.md. Those an operator may change arrive as a `Limits` value; the others are properties of the format.
 * Text inside the core is measured in UTF-16 units (`Units`), which is what a string knows of itself at no cost; bodies
 * on the wire are measured in bytes (`Bytes`).
 */
export interface Limits {
  /** Objects in one write. Exceeded: `limit_exceeded`. */
  readonly objectsPerWriteMax: number;
  /** Attributes of one object, as given in one write. Exceeded: `limit_exceeded`. */
  readonly attributesPerObjectMax: number;
  /** Nesting of a value: a scalar has depth 0, `[1]` has depth 1. Exceeded: `too_deep`. */
  readonly valueDepthMax: number;
  /** Names, ids and values of one write together, as JSON text. Exceeded: `body_too_large`. */
  readonly writeUnitsMax: number;
  /** A named document after the write, as text. Exceeded: `document_too_large`. */
  readonly documentUnitsMax: number;
  /** Objects in a page, when the device asks for none or for more. */
  readonly pageObjectsMax: number;
  /** Objects on one line of a snapshot. Its text is bounded like that of a page. */
  readonly lineObjectsMax: number;
  /** Text in a page; one object may exceed it, since an object is never torn. */
  readonly pageUnitsMax: number;
  /** Text of shared pages kept for devices that ask the same; beyond it those not asked for longest go. */
  readonly pageCacheUnitsMax: number;
  /** Attributes of one user. Exceeded: `limit_exceeded`. */
  readonly userAttributesMax: number;
  /** All attributes of one user as JSON text. Exceeded: `limit_exceeded`. */
  readonly userAttributesUnitsMax: number;
  /** Pings one caller may send in a minute, all of them at once or spread out. Exceeded: `rate_limited`. */
  readonly pingsPerMinuteMax: number;
  /** Bytes of the objects of one user in one source, as they are kept. Exceeded: `quota_exceeded`. */
  readonly userBytesMax: number;
  /** The same of objects that many users share: those of an `app` source, or of a custom partition. */
  readonly sharedBytesMax: number;
  /** Objects in the answer to a query. Exceeded: `backend_error`. */
  readonly answerObjectsMax: number;
  /** That answer as JSON text. Exceeded: `backend_error`. */
  readonly answerUnitsMax: number;
}

export const DEFAULT_LIMITS: Limits = {
  objectsPerWriteMax: 100_000,
  attributesPerObjectMax: 10_000,
  valueDepthMax: 32,
  writeUnitsMax: 10_000_000,
  documentUnitsMax: 100_000_000,
  pageObjectsMax: 10_000,
  lineObjectsMax: 20_000,
  pageUnitsMax: 2_000_000,
  pageCacheUnitsMax: 64_000_000,
  userAttributesMax: 1_000,
  userAttributesUnitsMax: 100_000,
  pingsPerMinuteMax: 600,
  userBytesMax: 1_000_000_000,
  sharedBytesMax: 10_000_000_000,
  answerObjectsMax: 1_000_000,
  answerUnitsMax: 100_000_000,
};

/** Stars in the pattern of `stats?names=`. Exceeded: `invalid_value`. */
export const GLOB_STARS_MAX = 8;
/** Length of that pattern. Exceeded: `invalid_value`. */
export const GLOB_UNITS_MAX = 512;
/** Items of lists and members of objects in one value, at all depths together. Exceeded: `limit_exceeded`. */
export const VALUE_MEMBERS_MAX = 100_000;
/** A password, in UTF-8. Hashing is slow on purpose, so what is hashed is bounded. Exceeded: `invalid_value`. */
export const PASSWORD_BYTES_MAX = 1_024;
/** Different metric keys; beyond it new ones are not recorded. */
export const METRICS_MAX = 10_000;
/** The largest poll interval and refresh time: ten years. Exceeded: `invalid_value`. */
export const INTERVAL_S_MAX = 315_360_000;
/** Removed attributes an object remembers; beyond it the object is sent whole to devices that lack the change. */
export const GONE_MARKS_MAX = 64;
/** Attributes of a source that name objects of others. Exceeded: `invalid_value`. */
export const SOURCE_REFERENCES_MAX = 100;
/** Attempts to commit a write that other writers keep overtaking. Exceeded: `write_conflict`. */
export const COMMIT_ATTEMPTS_MAX = 20;
/** Logins or ids in one listing. */
export const LIST_MAX = 10_000;
/** Devices of one user. Exceeded: `limit_exceeded`. */
export const CLIENTS_PER_USER_MAX = 10_000;
/** One attribute of a device. The longest is the address of a browser's push service. Exceeded: `invalid_value`. */
export const DEVICE_ATTRIBUTE_UNITS_MAX = 4_096;
/** The URL of the backend. Exceeded: `url_not_allowed`. */
export const URL_UNITS_MAX = 2_048;
/** Rows of statistics in one answer; beyond it only the newest are given. */
export const STAT_ROWS_MAX = 100_000;
/** Rows of statistics waiting for the store; beyond it the newer ones are dropped. */
export const STAT_ROWS_PENDING_MAX = 100_000;
/** Jobs enqueued in one call. More is a bug of the caller and thrown out. */
export const JOBS_PER_CALL_MAX = 10_000;
/** Jobs leased, or acknowledged, in one call. More is a bug of the caller and thrown out. */
export const JOBS_LEASED_PER_CALL_MAX = 1_000;
/** Jobs of one queue that are not dead. Exceeded: `queue_full`. */
export const JOBS_PER_QUEUE_MAX = 1_000_000;
/** Dead jobs of one queue; beyond it the one that died first is forgotten. */
export const DEAD_JOBS_PER_QUEUE_MAX = 100_000;
/** Attempts a job may be given. More is a bug of the caller and thrown out. */
export const JOB_ATTEMPTS_MAX = 1_000;
/** What a job carries. More is a bug of the caller and thrown out. */
export const JOB_PAYLOAD_UNITS_MAX = 10_000_000;
/** The name of an order that jobs keep. More is a bug of the caller and thrown out. */
export const JOB_ORDER_UNITS_MAX = 2_048;
/** Why an attempt failed, as it is kept; the rest is cut off. */
export const JOB_REASON_UNITS_MAX = 1_000;
/** The longest lease: a day. More is a bug of the caller and thrown out. */
export const JOB_LEASE_MS_MAX = 86_400_000;
/** Users in one ping. Exceeded: `limit_exceeded`. */
export const PING_USERS_MAX = 1_000;
/** Devices of all users of one ping, skipped ones included. Exceeded: `limit_exceeded`. */
export const PING_DEVICES_MAX = 10_000;
/** Sources in one ping. Exceeded: `limit_exceeded`. */
export const PING_SOURCES_MAX = 100;
/** The text of a ping; push services take about as much. Exceeded: `body_too_large`. */
export const PING_MESSAGE_UNITS_MAX = 4_096;
/** Badge and sound of a ping, where they are texts. Exceeded: `invalid_value`. */
export const PING_TEXT_UNITS_MAX = 255;
/** How long a ping may make a device vibrate. Exceeded: `invalid_value`. */
export const PING_VIBRATE_S_MAX = 3_600;
/** Attempts to carry a ping to one device; beyond it the job is dead. */
export const PING_ATTEMPTS_MAX = 8;
/** Pings whose results are kept; beyond it the oldest are forgotten. */
export const PINGS_KEPT_MAX = 100_000;
/** Results of pings, one for each device, kept when nobody says otherwise; beyond it the oldest pings are forgotten. */
export const PING_RESULTS_MAX = 500_000;
/** Callers whose pings are counted; beyond it the one not heard of for longest is forgotten. */
export const PING_CALLERS_MAX = 10_000;
/** Sources in one pull. Exceeded: `limit_exceeded`. */
export const PULL_SOURCES_MAX = 100;
/** Tokens of one device; beyond it the oldest end. */
export const DEVICE_TOKENS_MAX = 10;
/** Uploads in one push. Exceeded: `limit_exceeded`. */
export const UPLOADS_PER_PUSH_MAX = 1_000;
/** The id a device gives an upload. Exceeded: `invalid_value`. */
export const OP_ID_UNITS_MAX = 128;
/** Outcomes acknowledged in one call. Exceeded: `limit_exceeded`. */
export const ACKNOWLEDGED_PER_CALL_MAX = 10_000;
/** Outcomes of one device and source that wait to be acknowledged. Exceeded: `limit_exceeded`. */
export const OUTCOMES_WAITING_MAX = 10_000;
/** Outcomes of one source in the answer to a pull; the others follow when these are acknowledged. */
export const OUTCOMES_PER_PULL_MAX = 500;
/** How long an acknowledged upload is remembered, so that a late repetition has no effect: a week. */
export const SETTLED_KEPT_MS = 604_800_000;
/** Attributes of one object that a device is known to have written itself; beyond it the oldest are forgotten. */
export const FOOTPRINT_ATTRIBUTES_MAX = 1_000;
/** How far the clocks of servers may be apart; a stored moment further ahead than this was written by a clock that was wrong, and counts as past. */
export const CLOCK_SKEW_MS_MAX = 60_000;
/** Attempts at a refresh whose answer turned out to be older than what the partition remembers. */
export const REFRESH_QUERIES_MAX = 3;
/** How long applying an answer may take beside the query; beyond both, another server may refresh the partition. */
export const REFRESH_APPLY_MS_MAX = 60_000;
/** How long what another server is fetching is waited for; after that a device gets what is there. */
export const REFRESH_AWAIT_MS_MAX = 10_000;
/** When a device that was told `refresh_pending` may pull again, unless an event tells it earlier. */
export const REFRESH_RETRY_AFTER_S = 5;
/**
 * How long a refresh that devices were told to wait for counts as fresh, whatever the poll interval. The pulls that it
 * causes then get its result instead of asking the slow backend again.
 */
export const REFRESH_LATE_FRESH_MS = 15_000;
/** The longest wait after failed refreshes, before the backend is asked again. */
export const REFRESH_WAIT_MS_MAX = 300_000;
/** How long a refresh left to a queue is waited for before another is left there. */
export const REFRESH_QUEUED_MS = 600_000;
/** Attempts at a refresh left to a queue; beyond it the job is dead. */
export const REFRESH_ATTEMPTS_MAX = 5;
/** What is told of a refusal by the backend; the rest is cut off. */
export const BACKEND_DETAIL_UNITS_MAX = 500;
/** Nesting of an answer of the backend, before anything of it is looked at. Exceeded: `backend_error`. */
export const ANSWER_DEPTH_MAX = 1_024;
/** Objects in the answer to a search. Exceeded: `backend_error`. */
export const SEARCH_OBJECTS_MAX = 10_000;
/** How long the backend is asked in vain before an upload is set aside as dead, and the device told: a day. */
export const UPLOAD_GIVE_UP_MS = 86_400_000;
/** How long an upload that was set aside is kept, so that its job can be revived: 30 days. */
export const SET_ASIDE_KEPT_MS = 2_592_000_000;
/** Uploads of one call that are with the backend at the same time. */
export const UPLOADS_AT_ONCE_MAX = 8;
/** How long it is remembered what a temporary id of a device became: 90 days. */
export const LINK_KEPT_MS = 7_776_000_000;
/** Partitions of a source in which a user was before, whose outcomes are still told; those before are forgotten. */
export const MEMBERSHIPS_EARLIER_MAX = 8;
/** How long failed logins of the same address and login are summed up in one fact of the audit trail: ten minutes. */
export const AUDIT_SUMMED_MS = 600_000;
/** Different facts summed up at a time; beyond it, all others are one fact without actor and address. */
export const AUDIT_GROUPS_MAX = 200;
