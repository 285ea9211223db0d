import { readFile } from 'node:fs/promises'
import { bytesToBigInt } from '../../lib/bytes.ts'
import { DecodeError, DeviumError, UsageError } from '../../lib/errors.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { createRpcClient, type RpcClient, RpcTransportError, redact } from '../../lib/jsonRpc/client.ts'
import type { Logger } from '../../lib/logger.ts'
import { decodeRlp, rlpBytes, rlpList } from '../../lib/rlp.ts'
import { publicKeyToAddress, recoverPublicKey } from '../../lib/secp256k1.ts'
import type { TxSigner } from './signer.ts'
import { encodeSignedTx, type L1Tx, type SignedTx, signingHash } from './transaction.ts'

export interface RemoteTxSignerOptions {
  /** http or https. */
  endpoint: string
  /** The account; every signature is checked against it. */
  address: Hex
  headers: Record<string, string>
  /** PEM files: the service's authority, and this client's certificate and key. */
  tls?: { caPath: string; certPath: string; keyPath: string }
}

/** The remote signer refused, or what it sent is not the transaction that was asked for. Temporary. */
export class RemoteSignerError extends DeviumError<'signing-failed'> {
  override readonly name = 'RemoteSignerError'
}

const HEALTH_TIMEOUT_MS = 3_000
/** Twice the calldata of the largest transaction, in hex. */
const MAX_RESPONSE_BYTES = 1024 * 1024

/**
 * Has transactions signed by a service that speaks op-signer's JSON-RPC (`health_status`, `eth_signTransaction`). Blobs
 * stay here: only their hashes are signed. The certificate files are read again after a failed connection, since they may
 * have been renewed. Throws UsageError when they cannot be read or the service does not answer.
 */
export async function createRemoteTxSigner(
  modules: { logger: Logger; timeoutMs: number },
  options: RemoteTxSignerOptions,
): Promise<TxSigner & { close(): Promise<void> }> {
  const { logger, timeoutMs } = modules
  const name = redact(options.endpoint)
  let rpc = await connect(options)

  const request = async (method: string, params: readonly unknown[], limitMs: number): Promise<unknown> => {
    try {
      return await rpc.request(method, params, { timeoutMs: limitMs })
    } catch (error) {
      if (!(error instanceof RpcTransportError) || error.code === 'rpc-timeout') throw error
      logger.debug('Connection to the remote signer failed, trying once more', { err: error })
    }
    const failed = rpc
    rpc = await connect(options)
    await failed.close()
    return rpc.request(method, params, { timeoutMs: limitMs })
  }

  try {
    const version = await request('health_status', [], Math.min(timeoutMs, HEALTH_TIMEOUT_MS))
    logger.info('Remote signer is there', { endpoint: name, address: options.address, version: String(version) })
  } catch (cause) {
    await rpc.close()
    throw new UsageError(`remote signer ${name} cannot be used (--signer.endpoint)`, { cause })
  }
  return {
    address: options.address,
    async signTransaction(tx) {
      try {
        const answer = await request('eth_signTransaction', [argumentsOf(tx, options.address)], timeoutMs)
        return checkedTransaction(answer, tx, options.address)
      } catch (cause) {
        throw new RemoteSignerError('signing-failed', `remote signer ${name} did not sign the transaction`, {
          cause,
          severity: 'temporary',
        })
      }
    },
    close: () => rpc.close(),
  }
}

function argumentsOf(tx: L1Tx, from: Hex): object {
  return {
    from,
    to: tx.to,
    gas: toQuantity(tx.gasLimit),
    gasPrice: null,
    maxFeePerGas: toQuantity(tx.maxFeePerGas),
    maxPriorityFeePerGas: toQuantity(tx.maxPriorityFeePerGas),
    value: toQuantity(tx.value),
    nonce: toQuantity(tx.nonce),
    data: null,
    input: toHex(tx.data),
    accessList: [],
    chainId: toQuantity(tx.chainId),
    ...(tx.blob === undefined
      ? {}
      : { blobVersionedHashes: tx.blob.versionedHashes, maxFeePerBlobGas: toQuantity(tx.blob.maxFeePerBlobGas) }),
  }
}

/** The service's signature on our own encoding, so that nothing but it is taken over. Throws DecodeError. */
function checkedTransaction(answer: unknown, tx: L1Tx, address: Hex): SignedTx {
  if (typeof answer !== 'string') throw new DecodeError('signed transaction: expected hex text')
  const raw = fromHex(answer, undefined, 'signed transaction')
  const fields = rlpList(decodeRlp(raw.subarray(1)), 'signed transaction')
  const [yParityBytes, r, s] = fields.slice(-3).map((field) => padded(rlpBytes(field, 'signature')))
  if (yParityBytes === undefined || r === undefined || s === undefined)
    throw new DecodeError('signed transaction: no signature')
  const recoveryId = bytesToBigInt(yParityBytes)
  if (recoveryId > 1n) throw new DecodeError(`signed transaction: recovery id ${recoveryId}, expected 0 or 1`)
  const yParity = recoveryId === 1n ? 1 : 0
  const signed = encodeSignedTx(tx, { r, s, yParity })
  if (toHex(signed.raw) !== toHex(raw)) throw new DecodeError('signed transaction: not the one that was to be signed')
  const signer = publicKeyToAddress(recoverPublicKey(signingHash(tx), r, s, yParity))
  if (signer !== address) throw new DecodeError(`signature is of ${signer}, not ${address}`)
  return signed
}

function padded(bytes: Uint8Array): Uint8Array {
  if (bytes.length > 32) throw new DecodeError('signed transaction: signature is too long')
  const out = new Uint8Array(32)
  out.set(bytes, 32 - bytes.length)
  return out
}

async function connect({ endpoint, headers, tls }: RemoteTxSignerOptions): Promise<RpcClient> {
  const pems = tls && {
    ca: await readPem('ca', tls.caPath),
    cert: await readPem('cert', tls.certPath),
    key: await readPem('key', tls.keyPath),
  }
  return createRpcClient({
    url: endpoint,
    headers,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    ...(pems === undefined ? {} : { tls: pems }),
  })
}

async function readPem(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new UsageError(
      `cannot read ${path} (--signer.tls.${flag}; a signer without TLS needs --signer.tls.enabled=false)`,
      { cause },
    )
  }
}
