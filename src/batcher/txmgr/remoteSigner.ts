import { connectRemoteSigner, type RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { equalBytes } from '../../lib/bytes.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import { jsonBytes } from '../../lib/jsonReader.ts'
import type { Logger } from '../../lib/logger.ts'
import { encodeTransaction, fieldsToJson, TransactionReader } from '../../rollup/protocol/index.ts'
import type { TxSigner } from './signer.ts'
import { type L1Tx, type SignedTx, signedTx, unsignedOf } from './transaction.ts'

/** The remote signer refused to sign, or answered with another transaction. Temporary. */
export class RemoteSignerError extends DeviumError<'signing-failed'> {
  override readonly name = 'RemoteSignerError'
}

/** Twice the calldata of the largest transaction, in hex. */
const MAX_RESPONSE_BYTES = 1024 * 1024

/**
 * Signs transactions with a service that speaks op-signer's JSON-RPC (`eth_signTransaction`). Blobs are not sent to the
 * service: only their hashes are signed. Throws UsageError if the service is unusable.
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
  return { from, gasPrice: null, data: null, ...fieldsToJson(unsignedOf(tx)) }
}

/**
 * Applies the service's signature to our own encoding, so that no other field of the answer is used. Throws
 * DecodeError.
 */
function checkedTransaction(answer: unknown, tx: L1Tx, address: Hex): SignedTx {
  const raw = jsonBytes(answer, 'signed transaction')
  const reader = new TransactionReader(raw)
  const { v, r, s } = reader.signature
  const own = encodeTransaction({ ...unsignedOf(tx), v, r, s })
  if (!equalBytes(own, raw)) throw new DecodeError('signed transaction: its fields differ from the request')
  const signer = reader.sender()
  if (signer !== address) throw new DecodeError(`signature: expected the signer ${address}, got ${signer}`)
  return signedTx(own)
}
