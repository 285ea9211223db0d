import { randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { privateKeyFromRaw } from '@libp2p/crypto/keys'
import type { PeerId, PrivateKey } from '@libp2p/interface'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { describeError, isErrno, UsageError } from '../../lib/errors.ts'
import { toHex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { writeNew } from '../../lib/wholeFile.ts'
import { checkPrivateKey, PRIVATE_KEY_BYTES, parsePrivateKeyHex } from './privateKey.ts'

/** One secp256k1 key identifies the node on libp2p (peer id) and on discv5 (node id). */
export interface Identity {
  privateKey: PrivateKey
  peerId: PeerId
}

/**
 * Wraps 32 raw bytes. Throws UsageError when they are not a secp256k1 private key. The message never contains the key.
 */
export function identityFromRawKey(raw: Uint8Array): Identity {
  checkPrivateKey(raw)
  const privateKey = privateKeyFromRaw(raw)
  return { privateKey, peerId: peerIdFromPrivateKey(privateKey) }
}

/**
 * The raw key takes precedence over the file. A missing file is created with a new key and mode 0600. A file that other
 * users can read causes a warning. Throws UsageError.
 */
export async function loadIdentity(
  modules: { logger: Pick<Logger, 'warn'> },
  source: { rawKey?: Uint8Array; path?: string },
): Promise<Identity> {
  if (source.rawKey !== undefined) return identityFromRawKey(source.rawKey)
  if (source.path === undefined || source.path === '') {
    throw new UsageError('no p2p private key path specified, cannot auto-generate key without path (--p2p.priv.path)')
  }
  const stored = await readKeyFile(source.path)
  if (stored !== undefined) await warnOfReaders(source.path, modules.logger)
  return identityFromRawKey(stored ?? createKeyFile(source.path))
}

async function readKeyFile(path: string): Promise<Uint8Array | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return undefined
    throw new UsageError(`cannot read p2p private key file ${path} (--p2p.priv.path)`, { cause })
  }
  try {
    return parsePrivateKeyHex(text)
  } catch (error) {
    throw new UsageError(`p2p private key file ${path} (--p2p.priv.path): ${describeError(error)}`)
  }
}

async function warnOfReaders(path: string, logger: Pick<Logger, 'warn'>): Promise<void> {
  // Windows has no file modes.
  if (process.platform === 'win32') return
  const mode = (await stat(path)).mode & 0o777
  if ((mode & 0o077) === 0) return
  const fields = { path, mode: mode.toString(8).padStart(4, '0') }
  logger.warn('The p2p private key is readable by other users: run chmod 600 on it', fields)
}

function createKeyFile(path: string): Uint8Array {
  const raw = new Uint8Array(randomBytes(PRIVATE_KEY_BYTES))
  try {
    writeNew(path, toHex(raw).slice(2))
  } catch (cause) {
    throw new UsageError(`cannot write p2p private key file ${path} (--p2p.priv.path)`, { cause })
  }
  return raw
}
