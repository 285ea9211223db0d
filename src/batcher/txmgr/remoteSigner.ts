import { connectRemoteSigner, type RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { bytesToBigInt } from '../../lib/bytes.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { decodeRlp, rlpBytes, rlpList } from '../../lib/rlp.ts'
import { publicKeyToAddress, recoverPublicKey } from '../../lib/secp256k1.ts'
import type { TxSigner } from './signer.ts'
import { encodeSignedTx, type L1Tx, type SignedTx, signingHash } from './transaction.ts'

/** The remote signer refused, or what it sent is not the transaction that was asked for. Temporary. */
export class RemoteSignerError extends DeviumError<'signing-failed'> {
  override readonly name = 'RemoteSignerError'
}

/** Twice the calldata of the largest transaction, in hex. */
const MAX_RESPONSE_BYTES = 1024 * 1024

/**
 * Has transactions signed by a service that speaks op-signer's JSON-RPC (`eth_signTransaction`). Blobs stay here: only
 * their hashes are signed. Throws UsageError when the service cannot be used.
 */
export async function createRemoteTxSigner(
  modules: { logger: Logger; timeoutMs: number },
  options: RemoteSignerOptions,
): Promise<TxSigner & { close(): Promise<void> }> {
  const { address } = options
  const signer = await connectRemoteSigner({ ...modules, maxResponseBytes: MAX_RESPONSE_BYTES }, options)
  return {
    address,
    async signTransaction(tx) {
      try {
        return checkedTransaction(await signer.request('eth_signTransaction', [argumentsOf(tx, address)]), tx, address)
      } catch (cause) {
        throw new RemoteSignerError('signing-failed', `remote signer ${signer.name} did not sign the transaction`, {
          cause,
          severity: 'temporary',
        })
      }
    },
    close: signer.close,
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
