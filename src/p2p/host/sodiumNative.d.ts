declare module 'sodium-native' {
  /** The functions that `noiseCrypto.ts` uses. Outputs come first. Text and ciphertext may share memory. */
  interface Sodium {
    crypto_aead_chacha20poly1305_ietf_encrypt(
      ciphertext: Uint8Array,
      text: Uint8Array,
      ad: Uint8Array | null,
      unused: null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): number
    /** Throws when the tag does not match. */
    crypto_aead_chacha20poly1305_ietf_decrypt(
      text: Uint8Array,
      unused: null,
      ciphertext: Uint8Array,
      ad: Uint8Array | null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): number
  }
  const sodium: Sodium
  export default sodium
}
