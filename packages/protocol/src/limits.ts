/**
 * The limits of the product; the name of each ends with its unit. docs/reference/limits.md lists the error code for each. Limits
 * that an operator may change are fields of `Limits`; the others are constants. Text is measured in UTF-16 units
 * (`Units`), because `string.length` costs nothing; request and response bodies are measured in bytes (`Bytes`).
 */
export interface Limits {
  /** Objects in one write. Exceeded: `limit_exceeded`. */
  readonly objectsPerWriteMax: number;
  /** Attributes of one object in one write. Exceeded: `limit_exceeded`. */
  readonly attributesPerObjectMax: number;
  /** Nesting of a value: a scalar has depth 0, `[1]` has depth 1. Exceeded: `too_deep`. */
  readonly valueDepthMax: number;
  /** Names, ids and values of one write together, as JSON text. Exceeded: `body_too_large`. */
  readonly writeUnitsMax: number;
  /** A named document after the write, as text. Exceeded: `document_too_large`. */
  readonly documentUnitsMax: number;
  /** Objects in a page. A device may ask for fewer. */
  readonly pageObjectsMax: number;
  /** Objects on one line of a snapshot. The text of a line is bounded by `pageUnitsMax`. */
  readonly lineObjectsMax: number;
  /** Text in a page. A single larger object gets a page of its own, because objects are not split. */
  readonly pageUnitsMax: number;
  /** Text in the cache of shared pages. Beyond it, the least recently used pages are evicted. */
  readonly pageCacheUnitsMax: number;
  /** Attributes of one user. Exceeded: `limit_exceeded`. */
  readonly userAttributesMax: number;
  /** All attributes of one user as JSON text. Exceeded: `limit_exceeded`. */
  readonly userAttributesUnitsMax: number;
  /** Pings that one caller may send in a minute. Exceeded: `rate_limited`. */
  readonly pingsPerMinuteMax: number;
  /** Stored bytes of the objects of one user in one source, with tombstones and notes of uploads. Exceeded: `quota_exceeded`. */
  readonly userBytesMax: number;
  /** The same of an `app` source or a group. Exceeded: `quota_exceeded`. */
  readonly sharedBytesMax: number;
  /** Objects in the answer to a query. Exceeded: `backend_error`. */
  readonly answerObjectsMax: number;
  /** The answer to a query, as JSON text. Exceeded: `backend_error`. */
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
/** Length of the pattern of `stats?names=`. Exceeded: `invalid_value`. */
export const GLOB_UNITS_MAX = 512;
/** Items of lists and members of objects in one value, at all depths together. Exceeded: `limit_exceeded`. */
export const VALUE_MEMBERS_MAX = 100_000;
/** References to files in one object, in all attributes together. Exceeded: `limit_exceeded`. */
export const FILES_PER_OBJECT_MAX = 100;
/** Files of which a device asks at once whether the server has lost them. Exceeded: `invalid_request`. */
export const FILES_ASKED_MAX = 10_000;
/** The name of a file in UTF-8. Exceeded: `invalid_value`. */
export const FILE_NAME_BYTES_MAX = 255;
/** The media type of a file. Exceeded: `invalid_value`. */
export const FILE_TYPE_BYTES_MAX = 127;
/** A password in UTF-8, bounded because hashing is slow on purpose. Exceeded: `invalid_value`. */
export const PASSWORD_BYTES_MAX = 1_024;
/** Different metric keys. Beyond it, new keys are not recorded. */
export const METRICS_MAX = 10_000;
/** The largest poll interval and refresh time: ten years. Exceeded: `invalid_value`. */
export const INTERVAL_S_MAX = 315_360_000;
/** Removed attributes that the record of an object lists. Beyond it, devices that lack the change get the whole object. */
export const GONE_MARKS_MAX = 64;
/** Attributes of a source that refer to objects of other sources. Exceeded: `invalid_value`. */
export const SOURCE_REFERENCES_MAX = 100;
/** The schema of a source, as JSON text. Exceeded: `limit_exceeded`. */
export const SCHEMA_BYTES_MAX = 65_536;
/** Attributes of a schema, with the members of their values at all depths. Exceeded: `limit_exceeded`. */
export const SCHEMA_ATTRIBUTES_MAX = 1_000;
/** Schemas inside of each other, and the nesting of the values in them. Exceeded: `limit_exceeded`, or `too_deep` for values. */
export const SCHEMA_DEPTH_MAX = 16;
/** Versions of the schema of a source. Exceeded: `limit_exceeded`. */
export const SCHEMA_VERSIONS_MAX = 1_000;
/** All steps between the versions of the schema of a source, as JSON text. Exceeded: `limit_exceeded`. */
export const SCHEMA_STEPS_BYTES_MAX = 262_144;
/** Steps from one version of a schema to the next. Exceeded: `limit_exceeded`. */
export const STEPS_MAX = 100;
/** Values that one step maps, or attributes that it names. Exceeded: `limit_exceeded`. */
export const STEP_VALUES_MAX = 1_000;
/** Flaws that a refusal with `schema_violation` names. The others are not named. */
export const SCHEMA_FLAWS_MAX = 20;
/** Objects of one source that the report about its schema names. Older ones are forgotten. */
export const SCHEMA_SAMPLES_MAX = 20;
/** Stored objects of a source that a proposal of its schema is made from. The others are not read. */
export const SCHEMA_INFER_OBJECTS_MAX = 10_000;
/** Attempts to commit a write that conflicts with other writes. Exceeded: `write_conflict`. */
export const COMMIT_ATTEMPTS_MAX = 20;
/** A commit within so long after the begin of the last commit interval of its partition belongs to it. */
export const COMMIT_INTERVAL_S = 60;
/** Commit intervals kept of a partition. Beyond that, two that follow each other become one. */
export const COMMIT_INTERVALS_MAX = 16;
/** Logins or ids in one page of a list. */
export const LIST_MAX = 10_000;
/** Objects in one page of `GET …/objects`. Exceeded: `invalid_value`. */
export const OBJECT_LIST_MAX = 1_000;
/** Conditions in the filter of `GET …/objects`. Exceeded: `invalid_value`. */
export const FILTER_CONDITIONS_MAX = 20;
/** Objects that one page of a filtered list reads. Beyond it, `next` leads to the rest. */
export const FILTER_READ_OBJECTS_MAX = 100_000;
/** Text of the objects that one page of a filtered list reads, in UTF-16 units. Beyond it, `next` leads to the rest. */
export const FILTER_READ_UNITS_MAX = 100_000_000;
/** Objects of a list in another order than that of their last change. Exceeded: `limit_exceeded`. */
export const SORTED_OBJECTS_MAX = 1_000_000;
/** Bytes of these objects. Exceeded: `limit_exceeded`. */
export const SORTED_BYTES_MAX = 1_000_000_000;
/** Slices of the journal that a sorted list reads of what is written while it is made: as much as a list of the largest size. */
export const SORTED_NEW_SLICES_MAX = 2_000;
/** The beginning of a text by which a list is sorted, in UTF-16 units. Texts that begin alike are sorted by id. */
export const SORTED_TEXT_UNITS_MAX = 256;
/** Devices of one user. Exceeded: `limit_exceeded`. */
export const CLIENTS_PER_USER_MAX = 10_000;
/** One attribute of a device. The longest is the address of a browser's push service. Exceeded: `invalid_value`. */
export const DEVICE_ATTRIBUTE_UNITS_MAX = 4_096;
/** What a device says about the versions of schemas that its app was built with, as JSON. A login has room for them. Exceeded: `invalid_value`. */
export const DEVICE_VERSIONS_UNITS_MAX = 8_192;
/** Each text that a device says about its name, system and app for people to read, and its label. Exceeded: `invalid_value`. */
export const DEVICE_TEXT_UNITS_MAX = 200;
/** Devices or users in one page of a listing with details. Exceeded: `invalid_value`. */
export const DETAILS_LIST_MAX = 1_000;
/** Devices or users that one page of a listing with details looks at. Beyond it, the page ends and the next one goes on. */
export const DETAILS_EXAMINED_MAX = 1_000;
/** Reads of positions of devices for one page of a listing with details. Beyond it, the page ends and the next one goes on. */
export const DETAILS_READS_MAX = 5_000;
/** Devices whose names one call can ask for. */
export const CLIENT_NAMES_MAX = 100;
/** Devices of one user that a listing of users looks at for `last_seen`, `online` and `behind`. */
export const DETAILS_USER_DEVICES_MAX = 100;
/** The text that a listing with details searches for. Exceeded: `invalid_value`. */
export const SEARCH_TEXT_UNITS_MAX = 200;
/** The URL of the backend. Exceeded: `url_not_allowed`. */
export const URL_UNITS_MAX = 2_048;
/** Rows of statistics in one answer. Beyond it, only the newest are returned. */
export const STAT_ROWS_MAX = 100_000;
/** Rows of statistics that wait to be stored. Beyond it, newer rows are dropped. */
export const STAT_ROWS_PENDING_MAX = 100_000;
/** Jobs enqueued in one call. Exceeded: throws, because it is a bug of the caller. */
export const JOBS_PER_CALL_MAX = 10_000;
/** Jobs leased or acknowledged in one call. Exceeded: throws, because it is a bug of the caller. */
export const JOBS_LEASED_PER_CALL_MAX = 1_000;
/** Jobs of one queue that are not dead. Exceeded: `queue_full`. */
export const JOBS_PER_QUEUE_MAX = 1_000_000;
/** Dead jobs of one queue. Beyond it, the job that died first is deleted. */
export const DEAD_JOBS_PER_QUEUE_MAX = 100_000;
/** The highest `attemptsMax` of a job. Exceeded: throws, because it is a bug of the caller. */
export const JOB_ATTEMPTS_MAX = 1_000;
/** The payload of a job. Exceeded: throws, because it is a bug of the caller. */
export const JOB_PAYLOAD_UNITS_MAX = 10_000_000;
/** The ordering key of a job. Exceeded: throws, because it is a bug of the caller. */
export const JOB_ORDER_UNITS_MAX = 2_048;
/** The stored reason of a failed attempt. The rest is cut off. */
export const JOB_REASON_UNITS_MAX = 1_000;
/** The longest lease: a day. Exceeded: throws, because it is a bug of the caller. */
export const JOB_LEASE_MS_MAX = 86_400_000;
/** Users in one ping. Exceeded: `limit_exceeded`. */
export const PING_USERS_MAX = 1_000;
/** Devices of all users of one ping, skipped ones included. Exceeded: `limit_exceeded`. */
export const PING_DEVICES_MAX = 10_000;
/** Sources in one ping. Exceeded: `limit_exceeded`. */
export const PING_SOURCES_MAX = 100;
/** The text of a ping; push services have a similar limit. Exceeded: `body_too_large`. */
export const PING_MESSAGE_UNITS_MAX = 4_096;
/** The badge and the sound of a ping, if they are strings. Exceeded: `invalid_value`. */
export const PING_TEXT_UNITS_MAX = 255;
/** How long a ping may make a device vibrate. Exceeded: `invalid_value`. */
export const PING_VIBRATE_S_MAX = 3_600;
/** Attempts to deliver a ping to one device. After the last one the job is dead. */
export const PING_ATTEMPTS_MAX = 8;
/** Pings whose results are stored. Beyond it, the oldest are deleted. */
export const PINGS_KEPT_MAX = 100_000;
/** The default number of stored results, one for each ping and device. Beyond it, the oldest pings are deleted. */
export const PING_RESULTS_MAX = 500_000;
/** Callers in the rate limiter of pings. Beyond it, the least recently seen caller is evicted. */
export const PING_CALLERS_MAX = 10_000;
/** Sources in one pull. Exceeded: `limit_exceeded`. */
export const PULL_SOURCES_MAX = 100;
/** Objects and tombstones on a page that an event carries. Exceeded: the event carries no page, and devices pull. */
export const LIVE_OBJECTS_MAX = 100;
/** The text of a page that an event carries, which is not compressed. Exceeded: as above. */
export const LIVE_UNITS_MAX = 8_000;
/** Tokens of one device. Beyond it, the oldest are revoked. */
export const DEVICE_TOKENS_MAX = 10;
/** How long a server can tell why the token of a device has ended, in milliseconds. After that it is just invalid. */
export const ENDED_TOKENS_MS = 30 * 86_400_000;
/** How long an invite counts, in seconds. Outside: `invalid_value`. */
export const INVITE_S_MIN = 60;
export const INVITE_S_DEFAULT = 86_400;
export const INVITE_S_MAX = 7 * 86_400;
/** Users or groups in one push to several. Exceeded: `limit_exceeded`. */
export const PARTITIONS_PER_PUSH_MAX = 1_000;
/** Uploads in one push. Exceeded: `limit_exceeded`. */
export const UPLOADS_PER_PUSH_MAX = 1_000;
/** The `op_id` of an upload. Exceeded: `invalid_value`. */
export const OP_ID_UNITS_MAX = 128;
/** Outcomes acknowledged in one call. Exceeded: `limit_exceeded`. */
export const ACKNOWLEDGED_PER_CALL_MAX = 10_000;
/** Outcomes of one device and source that wait to be acknowledged. Exceeded: `limit_exceeded`. */
export const OUTCOMES_WAITING_MAX = 10_000;
/** Outcomes of one source in the answer to a pull. The others follow after these are acknowledged. */
export const OUTCOMES_PER_PULL_MAX = 500;
/** How long the outcome of an acknowledged upload is stored, so that a late repetition has no effect: a week. */
export const SETTLED_KEPT_MS = 604_800_000;
/** Attributes of one object that are recorded as written by a device itself. Beyond it, the oldest are forgotten. */
export const FOOTPRINT_ATTRIBUTES_MAX = 1_000;
/** How far the clocks of servers may differ. A stored time further in the future comes from a wrong clock, and counts as past. */
export const CLOCK_SKEW_MS_MAX = 60_000;
/** Queries of one refresh, if the partition was trimmed while the backend answered. */
export const REFRESH_QUERIES_MAX = 3;
/** How long storing an answer may take after the query, before another server may take over the refresh. */
export const REFRESH_APPLY_MS_MAX = 60_000;
/** How long a pull waits for the refresh of another server, before it delivers what is stored. */
export const REFRESH_AWAIT_MS_MAX = 10_000;
/** When a device that got `refresh_pending` may pull again, unless an event comes earlier. */
export const REFRESH_RETRY_AFTER_S = 5;
/**
 * How long a late refresh counts as fresh, regardless of the poll interval. The pulls that follow the late refresh then
 * get its result instead of querying the slow backend again.
 */
export const REFRESH_LATE_FRESH_MS = 15_000;
/** The longest back-off after failed refreshes. */
export const REFRESH_WAIT_MS_MAX = 300_000;
/** How long a queued refresh is expected to run before another one is enqueued. */
export const REFRESH_QUEUED_MS = 600_000;
/** Attempts at a queued refresh. After the last one the job is dead. */
export const REFRESH_ATTEMPTS_MAX = 5;
/** The text of a refusal by the backend that devices get. The rest is cut off. */
export const BACKEND_DETAIL_UNITS_MAX = 500;
/** Nesting of an answer of the backend. Checked before the answer is parsed. Exceeded: `backend_error`. */
export const ANSWER_DEPTH_MAX = 1_024;
/** Objects in the answer to a search. Exceeded: `backend_error`. */
export const SEARCH_OBJECTS_MAX = 10_000;
/** How long an upload is retried before its job is dead and the device gets a rejection: a day. */
export const UPLOAD_GIVE_UP_MS = 86_400_000;
/** How long an upload whose job is dead is stored, so that the job can be revived: 30 days. */
export const SET_ASIDE_KEPT_MS = 2_592_000_000;
/** Concurrent calls to the backend for the uploads of one request. */
export const UPLOADS_AT_ONCE_MAX = 8;
/** How long the link from a temporary id to the id of the backend is stored: 90 days. */
export const LINK_KEPT_MS = 7_776_000_000;
/** Earlier partitions of a user in a source whose outcomes are still reported. Older ones are forgotten. */
export const MEMBERSHIPS_EARLIER_MAX = 8;
/** Groups that one user can be a member of. */
export const GROUPS_PER_USER_MAX = 1_000;
/** Groups of one source that a device may name in one call. */
export const GROUPS_PER_CALL_MAX = 2_000;
/** Pages of different groups of one source in one answer. The device gets the others when it pulls again. */
export const GROUP_PAGES_PER_PULL_MAX = 100;
/** How long a token may stand for those of all groups of a device: one hour. Then the device presents each of them again. */
export const SET_TOKEN_AGE_MS_MAX = 3_600_000;
/** Users in one call that replaces the members of a group. */
export const GROUP_MEMBERS_PER_CALL_MAX = 10_000;
/** How long failed logins with the same address and login are counted in one fact of the audit trail: ten minutes. */
export const AUDIT_SUMMED_MS = 600_000;
/** Facts that are counted at a time. Beyond it, all others are one fact without actor and address. */
export const AUDIT_GROUPS_MAX = 200;
/** Changes of attributes in one fact of the audit trail. */
export const AUDIT_CHANGES_MAX = 50;
/** The old and the new value of an attribute in the audit trail, each as JSON. The rest is cut off. */
export const AUDIT_VALUE_UNITS_MAX = 200;
/** Facts that one search of the audit trail reads. Its answer says where the next one goes on. */
export const AUDIT_SCAN_MAX = 5_000;

/** Callers of one server that wait for devices to acknowledge, and how long one may wait. */
export const RECEIPT_WAITS_MAX = 100;
export const RECEIPT_WAIT_S_MAX = 60;
/** How often a waiting call reads the store again, for acknowledgements that other servers recorded. */
export const RECEIPT_REREAD_MS = 1_000;
/** A device that was not seen for this long is not waited for. */
export const RECEIPT_ACTIVE_MS = 86_400_000;
/** Repetitions of a ping to devices that are behind in a source with `push_notify: "until_delivered"`. */
export const PING_REPEATS_MAX = 10;
/** The pause before the first repetition; each further one is twice as long. */
export const PING_REPEAT_FIRST_MS = 60_000;
/** Devices that were not seen for this long get no repetitions. */
export const PING_REPEAT_SEEN_MS = 604_800_000;
/** Devices, each counted once for every partition it follows, of which a server measures the freshness. */
export const FRESHNESS_DEVICES_MAX = 50_000;
/** Connectors whose last report is kept. */
export const CONNECTORS_MAX = 100;
