/** Where push messages reach this app. */
export interface PushAddress {
  readonly device_type: 'ios' | 'android';
  /** Absent: APNs for `ios`, FCM for `android`. */
  readonly device_push_type?: 'apns_sandbox' | 'fcm';
  readonly device_pin: string;
}

export interface PushAddresses {
  /** Null: there is none, because the user has not allowed push messages. Rejects if the system does not answer. */
  current(): Promise<PushAddress | null>;
  /** Calls back with each new address. Returns the unsubscribe function. */
  onChange(listener: (address: PushAddress) => void): () => void;
}

/** What `expoPushes` uses of `expo-notifications`. */
export interface ExpoNotificationsLike {
  getPermissionsAsync(): Promise<ExpoPermissions>;
  getDevicePushTokenAsync(): Promise<ExpoPushToken>;
  addPushTokenListener(listener: (token: ExpoPushToken) => void): { remove(): void };
}

export interface ExpoPermissions {
  readonly granted: boolean;
  readonly ios?: { readonly status: number };
}

export interface ExpoPushToken {
  readonly type: string;
  readonly data: unknown;
}

export interface ExpoPushOptions {
  /** True for builds that Xcode or a development profile signs: Apple gives them addresses of its sandbox. */
  readonly isSandbox?: boolean;
}

/** Permissions of iOS that are not `granted`, with which messages are shown: quietly, and to an App Clip for some hours. */
const [IOS_PROVISIONAL, IOS_EPHEMERAL] = [3, 4];

function mayPush({ granted, ios }: ExpoPermissions): boolean {
  return granted || ios?.status === IOS_PROVISIONAL || ios?.status === IOS_EPHEMERAL;
}

/** The addresses that Apple and Google give the device. They need no server of Expo. */
export function expoPushes(
  notifications: ExpoNotificationsLike,
  { isSandbox = false }: ExpoPushOptions = {},
): PushAddresses {
  const addressOf = ({ type, data }: ExpoPushToken): PushAddress | null => {
    if (typeof data !== 'string' || (type !== 'ios' && type !== 'android')) return null;
    const isInSandbox = type === 'ios' && isSandbox;
    return { device_type: type, device_pin: data, ...(isInSandbox ? { device_push_type: 'apns_sandbox' } : {}) };
  };
  return {
    // Without permission some versions wait for ever.
    current: async () =>
      mayPush(await notifications.getPermissionsAsync())
        ? addressOf(await notifications.getDevicePushTokenAsync())
        : null,
    onChange: (listener) => {
      const subscription = notifications.addPushTokenListener((token) => {
        const address = addressOf(token);
        if (address !== null) listener(address);
      });
      return () => subscription.remove();
    },
  };
}

/** What `firebasePushes` uses of `messaging()` of `@react-native-firebase/messaging`. */
export interface FirebaseMessagingLike {
  getToken(): Promise<string>;
  onTokenRefresh(listener: (token: string) => void): () => void;
}

/** The addresses that Firebase gives the app, on iOS too: `firebasePushes(messaging(), Platform.OS)`. */
export function firebasePushes(messaging: FirebaseMessagingLike, os: string): PushAddresses {
  const addressOf = (token: string): PushAddress =>
    os === 'ios'
      ? { device_type: 'ios', device_push_type: 'fcm', device_pin: token }
      : { device_type: 'android', device_pin: token };
  return {
    current: async () => {
      const token = await messaging.getToken();
      return token === '' ? null : addressOf(token);
    },
    onChange: (listener) => messaging.onTokenRefresh((token) => listener(addressOf(token))),
  };
}
