/** The limits of the device SDK, with units in their names. */

/** Random bytes in the id of an object or upload: 128 bits, so that two devices never choose the same. */
export const ID_BYTES = 16;
/**
 * Text of the uploads in one push, in UTF-16 units; a single upload may exceed it. The server accepts ten times as
 * much.
 */
export const PUSH_UNITS_MAX = 500_000;
/** Acknowledgements in one call; the others are sent with the next one. */
export const ACKNOWLEDGED_PER_CALL = 2_000;
/** Between two calls that tell the server what the device holds. */
export const ACKNOWLEDGE_EVERY_MS = 1_000;
/** How long `sync()` and `close()` wait for such a call, which may hang without a network. */
export const ACKNOWLEDGE_MS_MAX = 2_000;
/** Devices that got the page of an event at the same moment spread such calls over this time. */
export const ACKNOWLEDGE_LIVE_SPREAD_MS = 10_000;
/** A request, up to the last byte of the answer. */
export const REQUEST_MS_MAX = 60_000;
/** Silence in a snapshot stream. */
export const STREAM_SILENCE_MS_MAX = 60_000;
/** Silence in the event stream: in heartbeats of the server, and before the server has sent its interval. */
export const HEARTBEATS_MISSED_MAX = 2.5;
export const HEARTBEAT_MS_DEFAULT = 30_000;
/** Pages of one source that came with events while it was pulled. Exceeded: the oldest is dropped, and the source is pulled again. */
export const LIVE_PAGES_WAITING_MAX = 32;
/** The names of sources in the address of the event stream. Exceeded: the stream is asked for the pages of all sources. */
export const EVENTS_QUERY_UNITS_MAX = 4_000;
/** A line of a stream. Pages are far smaller. */
export const LINE_BYTES_MAX = 64_000_000;
/** The bound of the first pause after a failure; it doubles with every further failure. */
export const PAUSE_MS_FIRST = 1_000;
export const PAUSE_MS_MAX = 60_000;
/** The longest Retry-After that is respected: an hour. */
export const RETRY_AFTER_MS_MAX = 3_600_000;
/** Between two pulls without an event stream. */
export const POLL_MS_DEFAULT = 60_000;
/** Between two pulls with an event stream, in case an event gets lost. */
export const POLL_MS_LIVE = 900_000;
/** How long the list of sources is used before it is read again. */
export const SOURCES_FRESH_MS = 300_000;
/**
 * The part of its lifetime after which a token is refreshed, and the shortest time between two refreshes if the clock
 * is wrong.
 */
export const TOKEN_LIFE_USED_MAX = 0.8;
export const REFRESH_PAUSE_MS = 600_000;
/** A first sync with more remaining objects continues as a snapshot. */
export const SNAPSHOT_FROM_OBJECTS = 2_000;
/** Objects of a first sync that are stored in one step. Between two steps the thread is free for the app. */
export const FIRST_SYNC_PART_OBJECTS = 1_000;
/** How long closing a device waits for its store, which may have to load everything and to commit changes before. */
export const CLOSE_MS_MAX = 30_000;
/**
 * Rows that are worked on in one step when a device is opened: when they are loaded, shown, sent to another tab or taken over
 * from one. Between two steps the thread is free for the app.
 */
export const STEP_ROWS = 2_000;
/** Between two times that the results of live queries are stored for the next start. */
export const LAST_RESULTS_EVERY_MS = 5_000;
/** Live queries whose results are stored for the next start, objects of each, and the text of all, in UTF-16 units. */
export const LAST_RESULTS_QUERIES_MAX = 20;
export const LAST_RESULTS_ROWS_MAX = 100;
export const LAST_RESULTS_UNITS_MAX = 250_000;
/** Objects whose checksums are computed in one step when a stored source is verified. */
export const VERIFY_STEP_OBJECTS = 2_000;
/** How often a verification starts again because the source has changed meanwhile. Exceeded: it is done in one step. */
export const VERIFY_RESTARTS_MAX = 3;
/** Links kept per source; the oldest are dropped. */
export const LINKS_PER_SOURCE_MAX = 10_000;
/** Changes that may wait for upload. Exceeded: `limit_exceeded`. */
export const UPLOADS_WAITING_MAX = 100_000;
/** Upload problems kept for the app; the oldest are dropped. */
export const PROBLEMS_MAX = 1_000;
/** Consecutive catch-ups of one source that may fail their checksum before the device pauses. */
export const HEALS_IN_A_ROW_MAX = 1;
/** Queries per source that are kept without subscribers, so that rendering again finds the same query. */
export const QUERIES_KEPT_MAX = 100;
/** Objects of a source on the disk that stay in memory although nothing shows them. */
export const HELD_OBJECTS = 1_000;
/** Objects behind the end of a query on the disk that are read as well, so that the next ones to leave it can be replaced at once. */
export const WINDOW_SPARE_OBJECTS = 20;
/** How often a query on the disk is read again because objects have changed meanwhile. Exceeded: it is read between two commits. */
export const WINDOW_RESTARTS_MAX = 3;
/** op_ids of merged updates that an upload remembers. */
export const MERGED_OPS_KEPT = 16;
/** Between two pings to the tab that leads, and the unanswered ones after which another tab takes over. */
export const TAB_PING_MS = 500;
export const TAB_PINGS_UNANSWERED_MAX = 3;
/** Commits in the log of a key-value store. Exceeded: the log is folded into the rows. */
export const KEY_VALUE_LOG_MAX = 32;
/** Text in one key of a key-value store, in UTF-16 units. AsyncStorage of Android cannot read rows of more than 2 MB. */
export const KEY_VALUE_UNITS_MAX = 400_000;

/** Objects of one commit from which IndexedDB stores them as packs instead of one by one. */
export const PACKS_FROM_OBJECTS = 200;
/** Objects in one pack, and their text in UTF-16 units; a single object may exceed it. */
export const PACK_OBJECTS_MAX = 500;
export const PACK_UNITS_MAX = 250_000;
/** Single rows beside packs. Exceeded: they are packed when the database is loaded. */
export const ROWS_BESIDE_PACKS_MAX = 2_000;
/** Deletes of one commit from which all packs are written anew. */
export const REWRITE_FROM_DELETES = 1_000;
/** Objects that were packed again. If there are more of them, and more than there are objects, all packs are written anew. */
export const PACKED_AGAIN_MIN = 20_000;

/** Ended sessions that wait to be revoked; the oldest beyond it are forgotten. */
export const REVOCATIONS_MAX = 10;

/** Calls to the server that a debug report shows. */
export const CALLS_LOGGED_MAX = 50;

/** Bytes of a file in one stored entry, in one request, and between two notes of how far a download is. The stored data depends on it. */
export const FILE_PIECE_BYTES = 1_048_576;
/** Bytes in one stored entry of a file that the app adds, in IndexedDB, where every entry takes a while: a photo is one. */
export const FILE_ENTRY_BYTES = 4_194_304;
/**
 * Bytes of a file in the first requests, and in those after a connection broke. They grow to a part of the bytes that have passed since,
 * and to a piece at most.
 */
export const FILE_SEND_BYTES_FIRST = 131_072;
export const FILE_SEND_BYTES_MIN = 32_768;
export const FILE_SEND_PARTS = 32;
/** A request with the bytes of a file, up to the last byte of the answer. */
export const FILE_REQUEST_MS_MAX = 120_000;
/** Files that are sent at the same time, and that are fetched. One that stalls does not hold up the others. */
export const FILES_SENT_AT_ONCE = 3;
export const FILES_FETCHED_AT_ONCE = 3;
/** Attempts of an upload whose bytes arrived with another hash. Exceeded: it has failed. */
export const FILE_HASH_ATTEMPTS_MAX = 3;
/** Between two questions which files the server has lost. */
export const FILES_LOST_ASKED_EVERY_MS = 3_600_000;
/** Files of one request of such a question; the server takes no more. */
export const LOST_FILES_ASKED_MAX = 10_000;
/** Attempts to fetch a file that the server does not have yet, over some 25 minutes. Exceeded: it is fetched when the app asks again. */
export const FILE_MISSING_ATTEMPTS_MAX = 50;
/** Bytes that the browser hashes at once, beside the thread. Larger files are hashed in steps. */
export const HASHED_AT_ONCE_BYTES_MAX = 8_388_608;
/** Bytes that are hashed in one step. Between two steps the thread is free for the app. */
export const HASH_STEP_BYTES = 131_072;
/** Bytes of files that are kept although the server has them, unless the app sets another limit. */
export const FILE_CACHE_BYTES_DEFAULT = 500_000_000;
/** Between two notes that a file was used; the files used longest ago leave the cache first. */
export const FILE_USED_EVERY_MS = 60_000;
/** After which bytes that belong to no file are deleted: an app that adds a file writes them before the device knows it. */
export const FILE_ORPHAN_MS = 3_600_000;
/** Between a change of objects and the search for files to fetch in advance. */
export const FILE_PREFETCH_AFTER_MS = 1_000;
/** A file in an address where the platform has no addresses of blobs, as React Native has none. */
export const DATA_URL_BYTES_MAX = 20_000_000;
