/** A device and its user. */
export interface DeviceId {
  readonly user: string;
  readonly client: string;
}
