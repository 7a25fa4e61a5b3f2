/** What an app says about itself and its device, for the people who look after the server. */
export interface About {
  /** The name or id of the app. */
  readonly app?: string;
  readonly version?: string;
  /** What the app or its user calls this device. */
  readonly name?: string;
  /** What the app runs on. Default: `web`, `node` or `react-native`. */
  readonly platform?: string;
  /** The browser or operating system. Default: what the platform tells; React Native tells nothing. */
  readonly system?: string;
}

/** The globals that tell what the app runs on. */
export interface Environment {
  readonly process?: { readonly versions?: { readonly node?: string }; readonly platform?: string };
  readonly navigator?: { readonly userAgent?: string; readonly product?: string };
}

/** Returns the attributes of the device, as far as somebody knows them. The server shortens what a browser says. */
export function describeDevice(
  { app, version, name, platform, system }: About,
  { process, navigator }: Environment = globalThis as Environment,
) {
  const node = process?.versions?.node;
  const runsOn = node ? 'node' : navigator?.product === 'ReactNative' ? 'react-native' : 'web';
  return {
    device_app_id: app,
    device_app_version: version,
    device_name: name,
    device_platform: platform ?? runsOn,
    device_system: system ?? (node ? `Node.js ${node} on ${process.platform}` : navigator?.userAgent),
  };
}
