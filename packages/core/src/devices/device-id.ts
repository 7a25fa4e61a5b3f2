/** Who calls: a device, and whose it is. */
export interface DeviceId {
  readonly user: string;
  readonly client: string;
}
