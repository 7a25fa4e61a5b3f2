export { type AppStateLike, followAppState } from './app-state.ts';
export {
  type ExpoNetworkLike,
  type ExpoNetworkState,
  expoNetwork,
  type NetInfoLike,
  type NetInfoState,
  netInfo,
} from './network-hints.ts';
export { type PhoneOptions, phonePlatform } from './phone-platform.ts';
export {
  type ExpoNotificationsLike,
  type ExpoPermissions,
  type ExpoPushOptions,
  type ExpoPushToken,
  expoPushes,
  type FirebaseMessagingLike,
  firebasePushes,
  type PushAddress,
  type PushAddresses,
} from './push-addresses.ts';
export { type PushHooks, registerForPushes } from './register-for-pushes.ts';
export {
  type ExpoSecureStoreLike,
  expoSecureItems,
  type SecureItems,
  type SecureKeyOptions,
  secureKey,
} from './secure-items.ts';
export { type SecureSessionOptions, secureSession } from './secure-session.ts';
export { type StreamingFetchParts, streamingFetch, type XhrLike } from './streaming-fetch.ts';
export { type BackgroundSync, syncInBackground } from './sync-in-background.ts';
