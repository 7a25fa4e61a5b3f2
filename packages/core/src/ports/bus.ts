/**
 * Carries short texts between the servers of one installation. They are hints: a server that misses one learns the same
 * later in another way. So texts are neither stored nor repeated, and no server waits for another.
 */
export interface Bus {
  /** Sends the text to all other servers. A text that cannot be sent now is lost. It must not contain line breaks. */
  publish(text: string): void;
  /** Closes the bus. Texts published just before may be lost. */
  close(): Promise<void>;
}

export interface BusListener {
  /** Called with each published text; on some transports also with those of this server. */
  onText(text: string): void;
  /** Called when texts may have been lost. */
  onGap(): void;
}

/** The longest text, in UTF-16 units. */
export const BUS_TEXT_UNITS_MAX = 262_144;
