/**
 * A self-signed certificate for stand-ins on loopback, valid until 2120. Its key is public, so only tests may trust it. It
 * is stored here because Node.js cannot make certificates, and a fresh machine may have no tool that can.
 */
export const TEST_ONLY_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBqjCCAVCgAwIBAgIBATAKBggqhkjOPQQDAjAmMSQwIgYDVQQDDBtUaWRlbWFy
ayBsb29wYmFjayB0ZXN0IG9ubHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEw
MDAwMDBaMCYxJDAiBgNVBAMMG1RpZGVtYXJrIGxvb3BiYWNrIHRlc3Qgb25seTBZ
MBMGByqGSM49AgEGCCqGSM49AwEHA0IABJcnC0DqAqlq0UUinZxbrI07gqXPCvNM
V4wEe0wGuP2vRJVurRADHQtvWS7kiURgTzrWHqsyLrhCvc43V9Jxz8ijbTBrMA8G
A1UdEwEB/wQFMAMBAf8wOQYDVR0RBDIwMIIJbG9jYWxob3N0ggsqLmxvY2FsaG9z
dIcEfwAAAYcQAAAAAAAAAAAAAAAAAAAAATAdBgNVHQ4EFgQUl7AKG8OKtQihwzA6
4qSJ0esiZHwwCgYIKoZIzj0EAwIDSAAwRQIgPBd8hUK/wYwb8bCIV0p7NK58o9EF
wABlNIocufseV9gCIQDvHiylEcQLh20saJWJlMxY2OeCq/biByfjHyF3T0krYg==
-----END CERTIFICATE-----
`;

export const TEST_ONLY_PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg3WBkjAPnIp1Vyko4
BA0ITtF+T4OHL9Ith/ySSkkdw2WhRANCAASXJwtA6gKpatFFIp2cW6yNO4Klzwrz
TFeMBHtMBrj9r0SVbq0QAx0Lb1ku5IlEYE861h6rMi64Qr3ON1fScc/I
-----END PRIVATE KEY-----
`;
