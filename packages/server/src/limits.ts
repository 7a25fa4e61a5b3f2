/**
 * Limits of the server, with units in their names. docs/reference/limits.md lists them with their values. They are not
 * configurable: use a proxy where other limits are needed.
 */

// Sockets

/** Open sockets, besides those of devices that listen for events. Exceeded: the socket is closed without an answer. */
export const SOCKETS_MAX = 10_000;
/** How long a socket stays open after a request was refused unread, so that the answer can arrive. */
export const LINGER_MS = 2_000;
/**
 * Bytes that are still read of a request that has been answered. After a larger body, or one without a length, the
 * connection is closed.
 */
export const DISCARDED_BYTES_MAX = 1_048_576;
/** Pipelined requests that wait on a connection. Exceeded: it is closed. */
export const PIPELINED_WAITING_MAX = 16;
/** A body that is remembered with its answer, one per connection. A larger request is always handled from the beginning. */
export const REMEMBERED_BODY_BYTES_MAX = 4_096;
/** How long a caller may leave an answer unread. Exceeded: the connection is closed. */
export const STALL_MS_MAX = 60_000;
/** Exceeded: `headers_too_large`. */
export const HEADER_BYTES_MAX = 16_384;
/** Exceeded: `uri_too_long`. */
export const URL_BYTES_MAX = 8_192;
/**
 * One segment of a path: a name of 255 bytes takes three characters per byte if percent-encoded. Exceeded:
 * `uri_too_long`.
 */
export const PARAM_UNITS_MAX = 1_024;
/** Exceeded: `request_timeout`. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** Exceeded: `request_timeout`. */
export const REQUEST_TIMEOUT_MS = 60_000;
/** How long a connection may stay open between two requests. */
export const KEEP_ALIVE_MS = 72_000;
/** How often sockets are checked: time-outs are noticed at most this much later. */
export const SOCKETS_CHECK_MS = 1_000;

// Bodies

/** So many bytes of each body do not count as in flight: they fit into memory for every socket. */
export const IN_FLIGHT_UNCOUNTED_BYTES_MAX = 65_536;
/**
 * Further bytes of bodies that have arrived and are being processed. One body is always accepted. Exceeded:
 * `overloaded`.
 */
export const IN_FLIGHT_BYTES_MAX = 67_108_864;
/** Those of all devices of one user. One body of a user is always accepted. Exceeded: `rate_limited`. */
export const IN_FLIGHT_BYTES_PER_USER_MAX = 16_777_216;
/** Those of one token of the REST API. One body of a token is always accepted. Exceeded: `rate_limited`. */
export const IN_FLIGHT_BYTES_PER_TOKEN_MAX = 50_331_648;
/** Bytes of a body that are parsed in one turn of the event loop. */
export const PARSE_SLICE_BYTES = 131_072;
/**
 * Nesting of a body. Values have tighter limits at admission; this one protects the parser and is above every limit
 * that can be configured there. Exceeded: `too_deep`.
 */
export const BODY_DEPTH_MAX = 1_024;
/** Members of the outermost object of a body. Exceeded: `limit_exceeded`. */
export const ENVELOPE_NAMES_MAX = 100;
/** Members of one object in a body, unless a write may contain more objects. Exceeded: `limit_exceeded`. */
export const OBJECT_MEMBERS_MAX = 250_000;
/**
 * Lists and objects in a body, at all depths together, unless a write may contain so many objects that ten of them for
 * each are more: one takes up to a hundred times the memory of its text. Exceeded: `body_too_large`.
 */
export const BODY_CONTAINERS_MAX = 1_000_000;
/** The same in the body of a device, which uploads far fewer objects at once than a backend. */
export const DEVICE_BODY_CONTAINERS_MAX = 250_000;
/**
 * Levels of the body of a device beside those of a value: its envelope has four, and an upload that is only a little too
 * deep is rejected alone. Exceeded: `too_deep`.
 */
export const DEVICE_BODY_DEPTH_SPARE = 16;
/** The body of a login. Anybody may send one, so it is as small as a login and a password allow. */
export const LOGIN_BYTES_MAX = 16_384;

// Logins

/** Failed logins within a window, per address and per account. Exceeded: `rate_limited`. */
export const FAILED_LOGINS_PER_ADDRESS_MAX = 5;
export const FAILED_LOGINS_PER_ACCOUNT_MAX = 20;
export const FAILED_LOGINS_WINDOW_MS = 60_000;
/** Sign-ins of one user on devices within a window. Exceeded: `rate_limited`. */
export const SIGN_INS_PER_USER_MAX = 100;
/** Tokens of identity providers from one address that are refused within a window. Exceeded: `rate_limited`. */
export const REFUSED_ID_TOKENS_PER_ADDRESS_MAX = 100;
export const SIGN_INS_WINDOW_MS = 60_000;
/** Addresses and accounts whose failed logins are counted; the least recently used are evicted. */
export const LOGIN_KEYS_MAX = 10_000;
/** Logins that wait for the result of others. Exceeded: `overloaded`. */
export const LOGINS_WAITING_MAX = 200;
/** Devices, users and tokens whose requests are counted for the rate limits, of each kind; the least recently used are evicted. */
export const RATE_LIMIT_KEYS_MAX = 100_000;
/** Concurrent hashes: each takes about 19 MiB, and a thread that file access needs, too. */
export const HASHES_AT_ONCE_MAX = 2;
/** Hashes that wait. Exceeded: `overloaded`. */
export const HASHES_WAITING_MAX = 100;

// Sign-in with identity providers

/** Characters of a token of an identity provider. Exceeded: `id_token_too_large`. */
export const ID_TOKEN_UNITS_MAX = 12_288;
/** How long an identity provider may take to answer. Exceeded: `issuer_unavailable`. */
export const ISSUER_TIMEOUT_MS = 5_000;
/** The discovery document and the key set of an identity provider. Exceeded: the answer is not used. */
export const ISSUER_ANSWER_BYTES_MAX = 262_144;
/** Keys of one identity provider. Exceeded: the answer is not used. */
export const ISSUER_KEYS_MAX = 100;
/** How long fetched keys are used without looking for newer ones. */
export const ISSUER_KEYS_FRESH_MS = 600_000;
/** How long fetched keys are used while the identity provider cannot be reached. Exceeded: `issuer_unavailable`. */
export const ISSUER_KEYS_STALE_MS_MAX = 86_400_000;
/** The shortest time between two fetches of the keys of one identity provider. */
export const ISSUER_REFETCH_MS = 10_000;
/** From the start of an administrator's sign-in at an identity provider to the return with its code. */
export const SIGN_IN_MS_MAX = 600_000;

// Calls to the backend

/** Concurrent calls of one kind (authenticate, query, upload, search): each needs a socket. */
export const BACKEND_CALLS_AT_ONCE_MAX = 32;
/** Calls of one kind that wait. Exceeded: `overloaded`. */
export const BACKEND_CALLS_WAITING_MAX = 1_000;
/** How long a call waits for others. Exceeded: `overloaded`. */
export const BACKEND_WAIT_MS_MAX = 10_000;
/** Sources that one check of the backend queries. */
export const BACKEND_CHECK_SOURCES_MAX = 100;
/** Failed calls to the backend that a server process remembers. Exceeded: it forgets the oldest. */
export const BACKEND_FAILURES_KEPT_MAX = 50;
/** Concurrent searches of one device. Exceeded: `rate_limited`. */
export const SEARCHES_PER_DEVICE_MAX = 2;

// Backups

/** Backups in the folder of backups. Exceeded: `limit_exceeded`. */
export const BACKUPS_MAX = 100;
/** Downloads of backups at one server at once. Exceeded: `rate_limited`. */
export const BACKUP_DOWNLOADS_MAX = 2;
/** The Retry-After of a refused backup. */
export const BACKUP_RETRY_AFTER_S = 5;
/** Findings that one verification of a backup answers; all are counted. */
export const BACKUP_FINDINGS_MAX = 100;
/** What is left of a backup that a dead server was making is removed after this time. */
export const UNFINISHED_BACKUP_MS = 86_400_000;
/** A scheduled backup whose process has not said for so long that it makes it has failed. */
export const BACKUP_SILENT_MS = 120_000;
/** How long the command after a scheduled backup may take: an hour. Exceeded: it is killed, and the backup has failed. */
export const BACKUP_COMMAND_MS_MAX = 3_600_000;
/** The end of what such a command says that is kept. */
export const BACKUP_COMMAND_UNITS_MAX = 500;

// Files

/** Unfinished uploads of all devices of one user. Exceeded: `too_many_uploads`. */
export const FILE_UPLOADS_PER_USER_MAX = 200;
/** Files that one user, or one token of the REST API, sends and receives at once at one server. Exceeded: `rate_limited`. */
export const FILE_TRANSFERS_PER_CALLER_MAX = 50;
/** Those of all callers. Exceeded: `overloaded`. */
export const FILE_TRANSFERS_MAX = 1_000;
/** The Retry-After of a transfer that is refused for that. */
export const FILE_TRANSFERS_RETRY_AFTER_S = 2;
/** From an upload whose call has sent nothing for so long, another call takes over. Sooner: `upload_locked`. */
export const UPLOAD_IDLE_MS = 5_000;
/** The Retry-After of `upload_locked`. */
export const UPLOAD_LOCKED_RETRY_AFTER_S = 1;
/** While a file is sent, the rights of its reader are checked again after so many bytes, and before the last ones. */
export const FILE_RIGHTS_CHECK_BYTES = 16_777_216;
/** How long a link to a file is valid that a call to the backend carries, in seconds. */
export const FILE_LINK_S = 3_600;
/** So much of the disk stays free of files. Exceeded: `store_full`. */
export const FILES_RESERVE_BYTES = 134_217_728;
/** So many of the files that are still only on a device are listed at most, those that wait longest first. */
export const CLIENT_FILES_LISTED_MAX = 100;

// Filtered and sorted lists of objects

/** Filtered and sorted lists that one token has under way. Exceeded: `rate_limited`. */
export const FILTERED_LISTS_PER_TOKEN_MAX = 2;
/** Those of all tokens at one server. Exceeded: `overloaded`. */
export const FILTERED_LISTS_MAX = 4;
/** The Retry-After of a refused list. */
export const FILTERED_LISTS_RETRY_AFTER_S = 1;

// Snapshots and compression

/** Concurrent snapshots of one device. Exceeded: `rate_limited`. */
export const SNAPSHOTS_PER_DEVICE_MAX = 4;
/** Concurrent snapshots of all devices of one user. Exceeded: `rate_limited`. */
export const SNAPSHOTS_PER_USER_MAX = 50;
/** Concurrent snapshots at one server; each may hold a line in memory. Exceeded: `overloaded`. */
export const SNAPSHOTS_MAX = 200;
/** The Retry-After of a refused snapshot. */
export const SNAPSHOT_RETRY_AFTER_S = 5;
/** Concurrent compressions: each takes a thread of a pool of four, which must have some left for passwords. */
export const COMPRESSIONS_AT_ONCE_MAX = 2;
/** Answers to pulls that wait for compression; beyond that they are sent uncompressed. */
export const COMPRESSIONS_WAITING_MAX = 64;

// Log

/** Lines about failed and slow requests in a second, unless every request is logged. More are counted. */
export const REQUEST_LINES_PER_S_MAX = 100;

// Activity

/** Activity streams at one server. Exceeded: `overloaded`. */
export const ACTIVITY_STREAMS_MAX = 20;
/** Those of one token. Exceeded: `rate_limited`. */
export const ACTIVITY_STREAMS_PER_TOKEN_MAX = 5;
/** The window within which events are counted and sent to other servers together. */
export const ACTIVITY_WINDOW_MS = 100;
/** Events in one window for one stream. More are dropped and counted. */
export const ACTIVITY_EVENTS_PER_WINDOW_MAX = 20;
/** Events in one message to other servers. More are dropped and counted. */
export const ACTIVITY_BATCH_EVENTS_MAX = 100;
/** UTF-16 units of events in one message to other servers, not counting the last event. More are dropped and counted. */
export const ACTIVITY_BATCH_UNITS_MAX = 131_072;
/** UTF-16 units of the JSON text of one event's data. Exceeded: the data is null. */
export const ACTIVITY_DATA_UNITS_MAX = 16_384;

/** Events of the last day with which a stream begins. */
export const ACTIVITY_RECENT_MAX = 200;
/** Refusals and failures of one server in a minute that the history keeps. More are counted. */
export const HISTORY_FAILURES_PER_MIN_MAX = 300;
/** Those of one device or user. More are counted. */
export const HISTORY_FAILURES_OF_ONE_PER_MIN_MAX = 30;
/** Those of callers without a valid token or login, together. More are counted. */
export const HISTORY_STRANGERS_PER_MIN_MAX = 60;
/** Successful events of one server in a minute that the history keeps: a sample on a busy server. */
export const HISTORY_SAMPLES_PER_MIN_MAX = 60;
/** Events in one chunk of the history, which is one entry of the store. */
export const HISTORY_CHUNK_EVENTS_MAX = 200;
/** The time that a chunk covers. */
export const HISTORY_CHUNK_MS = 300_000;
/** How long events wait until they are written to the store. A crash loses as much. */
export const HISTORY_FLUSH_MS = 2_000;
/** UTF-16 units of one event in the history. A longer one is left out and counted. */
export const HISTORY_EVENT_UNITS_MAX = 4_000;
/** Chunks that one search of the history reads. Its answer says where the next one goes on. */
export const HISTORY_SCAN_CHUNKS_MAX = 300;
/** Full chunks of the history that a server holds while they cannot be written. Exceeded: the oldest is dropped and counted. */
export const HISTORY_UNWRITTEN_CHUNKS_MAX = 10;
/** Events in one answer of a search. */
export const HISTORY_PAGE_MAX = 1_000;

// Metrics

/** Sources that have time series of their own; all others are summed up as `other`. */
export const SOURCES_LABELLED_MAX = 100;

// Load and readiness

/** The share of the available memory that the server may use unless `overload.rss_bytes_max` is set. */
export const MEMORY_SHARE_MAX = 0.8;

/** The resolution of the event loop delay. Each sample wakes the process, also when it is idle. */
export const EVENT_LOOP_SAMPLE_MS = 50;
/** How often the load is measured. */
export const LOAD_SAMPLE_MS = 500;
/** The load is not measured any more when no request has come for so long. */
export const LOAD_REST_MS = 60_000;
/** The Retry-After of a request refused for overload. */
export const OVERLOAD_RETRY_AFTER_S = 2;
/** Below this the server is not ready, because the next write may be refused. */
export const FREE_DISK_BYTES_MIN = 67_108_864;
/** Queues whose lag is part of readiness. */
export const QUEUES_LOOKED_AT_MAX = 100;
