import type { ICryptoInterface } from '@chainsafe/libp2p-noise'
import { defaultCrypto } from '@chainsafe/libp2p-noise/crypto'

type Aead = Pick<ICryptoInterface, 'chaCha20Poly1305Encrypt' | 'chaCha20Poly1305Decrypt'>

/** One buffer or a list of buffers. */
type Bytes = Parameters<Aead['chaCha20Poly1305Encrypt']>[0]

/** Size of the authentication tag after a ciphertext (RFC 8439, section 2.8). */
const TAG_BYTES = 16

/**
 * libsodium needs 1 µs for a message of 1 kB. The noise library's own ciphers need 7 µs (WebAssembly, used up to 1,200
 * bytes) or 14 µs (node:crypto, above). If the prebuilt binary does not load, the library's ciphers are used.
 */
async function loadAead(): Promise<Aead> {
  try {
    const { default: sodium } = await import('sodium-native')
    return {
      chaCha20Poly1305Encrypt(plaintext, nonce, ad, key) {
        const sealed = Buffer.allocUnsafe(plaintext.byteLength + TAG_BYTES)
        const text = sealed.subarray(0, plaintext.byteLength)
        copyInto(text, plaintext)
        sodium.crypto_aead_chacha20poly1305_ietf_encrypt(sealed, text, orNull(ad), null, nonce, key)
        return sealed
      },
      chaCha20Poly1305Decrypt(ciphertext, nonce, ad, key, target) {
        const length = ciphertext.byteLength - TAG_BYTES
        if (length < 0) throw new Error(`a ciphertext of ${ciphertext.byteLength} bytes is shorter than its tag`)
        const text = target ?? Buffer.allocUnsafe(length)
        sodium.crypto_aead_chacha20poly1305_ietf_decrypt(text, null, ciphertext.subarray(), orNull(ad), nonce, key)
        return text
      },
    }
  } catch {
    return defaultCrypto
  }
}

function copyInto(target: Uint8Array, source: Bytes): void {
  if (source instanceof Uint8Array) {
    target.set(source)
    return
  }
  let offset = 0
  for (const part of source) {
    target.set(part, offset)
    offset += part.byteLength
  }
}

function orNull(ad: Uint8Array): Uint8Array | null {
  return ad.byteLength === 0 ? null : ad
}

/** The noise library's crypto with a faster cipher. */
export const noiseCrypto: ICryptoInterface = { ...defaultCrypto, ...(await loadAead()) }
